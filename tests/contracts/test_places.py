"""What a command writes never costs what it reads, what others wrote, or the work of another run."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid import cli, pipeline, registry, storage
from inlaid.errors import InlaidError, WriteError
from inlaid.jobs import checkpoint
from inlaid.jobs.safety import Safety
from inlaid.jobs.state import State
from inlaid.messages import Message

SGNS = ["--dim", "4", "--epochs", "1", "--min-count", "1"]


@pytest.fixture
def here(workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with the files of the workshop."""
    shutil.copytree(workshop, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def refused(typed: Any, here: Path) -> Callable[..., str]:
    """Type a command that must be refused in one line, before it reads or writes anything."""

    def run(*words: str | Path) -> str:
        before = contents(here)
        shown = typed(*words, code=2)
        assert shown.err.count("\n") == 1, shown.err
        assert contents(here) == before
        return shown.err

    return run


class TestTheSamePlaceTwice:
    def test_the_checkpoint_is_not_the_output(self, refused: Any):
        error = refused("train", "sgns", "corpus", "-o", "v.inlaid", "--checkpoint", "v.inlaid")
        assert "v.inlaid is both the output and the checkpoint" in error
        os.symlink("v.inlaid", "link")
        os.mkdir("folder")
        for other in ("link", "./v.inlaid", "folder/../v.inlaid"):
            words = ("train", "sgns", "corpus", "-o", "v.inlaid", "--checkpoint", other)
            assert "is both the output and the checkpoint" in refused(*words)

    @pytest.mark.parametrize("name", [entry.name for entry in registry.entries("method")])
    def test_the_output_is_not_the_text(self, name: str, refused: Any):
        os.rename("more.txt", "w.inlaid")
        os.link("w.inlaid", "hard.inlaid")
        os.symlink("w.inlaid", "soft.inlaid")
        overwrite = [] if registry.find("method", name).abilities.model else ["--overwrite"]
        for output in ("w.inlaid", "hard.inlaid", "soft.inlaid"):
            error = refused("train", name, "w.inlaid", "-o", output, *overwrite)
            assert f"{output} is read, and would be replaced by the output" in error

    @pytest.mark.parametrize(
        "words",
        [
            ["train", "sgns", "more.txt", "-o", "v.inlaid", "--checkpoint", "more.txt"],
            [
                "train",
                "sgns",
                "more.txt",
                "-o",
                "words.txt",
                "--format",
                "glove",
                "--dictionary",
                "words.txt",
            ],
            ["train", "sgns", "more.txt", "-o", "two-tables.inlaid", "--init-from", "two-tables.inlaid"],
            ["train", "sgns", "*.txt", "-o", "more.txt", "--format", "glove"],
            ["convert", "a.inlaid", "a.inlaid", "--dtype", "int8"],
            ["align", "a.inlaid", "b.inlaid", "same.txt", "-o", "b.inlaid"],
            ["align", "a.inlaid", "b.inlaid", "same.txt", "-o", "same.txt", "--format", "glove"],
            ["corpus", "more.txt", "-o", "more.txt"],
            ["phrases", "corpus", "-o", "corpus"],
            ["world", "-o", "new.txt", "--dictionary", "new.txt"],
        ],
        ids=" ".join,
    )
    def test_no_command_writes_what_it_reads_or_writes(self, words: list[str], refused: Any):
        for more in ([], ["--overwrite"]):
            if words[0] in ("corpus", "phrases") and more:
                continue  # folders are never replaced
            assert "is read, and would be replaced" in (error := refused(*words, *more)) or "both" in error

    @pytest.mark.parametrize(
        "command", ["train sgns texts -o texts/v.inlaid", "corpus texts -o texts/corpus"]
    )
    def test_nothing_is_written_into_a_folder_of_text(self, command: str, refused: Any):
        os.mkdir("texts")
        os.rename("more.txt", "texts/more.txt")
        assert "lies in texts, a folder that is read" in refused(*command.split())

    def test_a_lock_is_a_place_too(self, refused: Any):
        words = ("train", "sgns", "corpus", "-o", ".k.lock", "--format", "native", "--checkpoint", "k")
        assert ".k.lock is both the output and the lock of the checkpoint" in refused(*words)
        words = ("train", "sgns", "corpus", "-o", "k", "--format", "native", "--checkpoint", ".k.lock")
        assert ".k.lock is both the checkpoint and the lock of the output" in refused(*words)
        os.rename("more.txt", ".k.lock")
        words = ("train", "sgns", ".k.lock", "-o", "k", "--format", "native")
        assert ".k.lock is read, and would be replaced by the lock of the output" in refused(*words)

    def test_a_file_of_the_user_named_as_a_lock_stays(self, refused: Any, here: Path):
        (here / ".z.inlaid.lock").write_text("my notes")
        for words in (("train", "sgns", "corpus", "-o", "z.inlaid"), ("convert", "a.inlaid", "z.inlaid")):
            assert "a file that Inlaid did not write" in refused(*words)

    def test_text_behind_a_link_in_a_folder_is_read(self, refused: Any):
        os.mkdir("texts")
        os.symlink("../more.txt", "texts/soft.txt")
        os.symlink("texts", "other")
        for folder in ("texts", "other"):
            error = refused("train", "ppmi", folder, "-o", "more.txt", "--format", "glove", "--overwrite")
            assert f"more.txt is read as {folder}/soft.txt, and would be replaced by the output" in error
        os.unlink("texts/soft.txt")
        os.link("more.txt", "texts/hard.txt")
        error = refused("train", "ppmi", "texts", "-o", "more.txt", "--format", "glove", "--overwrite")
        assert "more.txt is read as texts/hard.txt" in error

    def test_an_output_that_would_be_read_the_next_time_is_refused_the_first_time(self, refused: Any):
        os.makedirs("texts/deep")
        os.rename("more.txt", "texts/more.txt")
        os.mkdir("out")
        os.symlink("../../out", "texts/deep/link")
        os.symlink("../..", "texts/deep/loop")
        os.symlink("../new.inlaid", "texts/new.txt")
        error = refused("train", "ppmi", "texts/deep/link", "texts/more.txt", "-o", "out/v.inlaid")
        assert "out/v.inlaid lies in texts/deep/link, a folder that is read" in error
        os.unlink("texts/deep/loop")
        assert "lies in texts/deep/link" in refused("train", "ppmi", "texts", "-o", "out/v.inlaid")
        assert "is read as texts/new.txt" in refused("train", "ppmi", "texts", "-o", "new.inlaid")

    def test_a_link_that_leads_to_itself_is_no_place(self, refused: Any):
        os.symlink("v.inlaid", "v.inlaid")
        for words in (("train", "ppmi", "corpus", "-o", "v.inlaid"), ("convert", "a.inlaid", "v.inlaid")):
            assert "v.inlaid: it is a link that leads to itself" in refused(*words, "--overwrite")
        assert os.path.islink("v.inlaid")

    def test_vectors_and_maps_are_written_into_a_folder_of_a_model(self, typed: Any, here: Path):
        """No reader takes them for a part of the model."""
        typed("convert", "a.inlaid", "model", "--format", "static-embedding")
        before = contents(here / "model")
        for _ in range(2):
            typed("convert", "model", "model/v.inlaid")
            typed("convert", "model", "model/v.npz", "--overwrite")
            typed("convert", "model", "model/v.vec", "--overwrite")
            typed("map", "model", "-o", "model/m.html", "--method", "pca", "--top", "30")
        assert contents(here / "model").items() > before.items()
        assert inlaid.load("model").table.tobytes() == inlaid.load("model/v.inlaid").table.tobytes()
        typed("align", "model", "b.inlaid", "same.txt", "-o", "model/aligned.inlaid")
        typed("train", "ppmi", "more.txt", "-o", "model/w.inlaid", "--dim", "4", "--overwrite")

    def test_no_file_of_a_model_is_replaced_or_added(self, refused: Any, typed: Any, here: Path):
        typed("convert", "a.inlaid", "model", "--format", "static-embedding")
        os.symlink("model/tokenizer.json", "soft.inlaid")
        weights = str(next((here / "model").rglob("model.safetensors")).relative_to(here))
        os.symlink(here / weights, "model/v.inlaid")
        for output in (
            weights,
            "model/vocab.txt",
            "model/pytorch_model.bin",
            "soft.inlaid",
            "model/v.inlaid",
        ):
            error = refused("convert", "model", output, "--format", "native", "--overwrite")
            assert "lies in model, a folder that is read" in error

    def test_in_python(self, here: Path):
        with pytest.raises(WriteError, match="is read, and would be replaced by the checkpoint"):
            inlaid.train(here / "more.txt", "sgns", safety=Safety(checkpoint=here / "more.txt"))
        with pytest.raises(WriteError, match="is read, and would be replaced"):
            inlaid.convert("a.inlaid", here / "a.inlaid")


class TestFilesOfOthers:
    @pytest.mark.parametrize(
        "words",
        [
            ["train", "ppmi", "corpus", "-o", "OUT.inlaid", "--dim", "4"],
            ["train", "ppmi", "corpus", "-o", "OUT.vec", "--dim", "4"],
            ["convert", "a.inlaid", "OUT.inlaid"],
            ["convert", "a.inlaid", "OUT.npz"],
            ["align", "a.inlaid", "b.inlaid", "same.txt", "-o", "OUT.inlaid"],
            ["map", "a.inlaid", "-o", "OUT.html", "--method", "pca", "--top", "30"],
            ["map-texts", "a.inlaid", "the king", "an apple", "--method", "pca", "-o", "OUT.html"],
            ["embed", "a.inlaid", "the king", "-o", "OUT.npz"],
            ["embed", "a.inlaid", "the king", "-o", "OUT.parquet"],
            ["embed", "a.inlaid", "the king", "-o", "OUT.inlaid"],
            ["translate", "seq2seq.model", "我 打 你", "-o", "OUT.txt"],
            ["world", "-o", "OUT.txt", "--words", "10"],
            ["world", "-o", "other", "--words", "10", "--dictionary", "OUT.txt"],
        ],
        ids=lambda words: f"{words[0]} {Path(words[-1]).suffix}",
    )
    def test_are_replaced_only_if_asked(self, words: list[str], refused: Any, typed: Any, here: Path):
        words = [word.replace("OUT", "mine") for word in words]
        output = here / next(word for word in words if word.startswith("mine"))
        output.write_text("my notes")
        error = refused(*words)
        assert "already exists" in error
        assert "--overwrite" in error
        typed(*words, "--overwrite")
        assert output.read_bytes() != b"my notes"

    def test_results_of_inlaid_and_empty_files_are_replaced(self, typed: Any, here: Path):
        for words in (
            ["train", "ppmi", "corpus", "-o", "v.inlaid", "--dim", "4"],
            ["convert", "a.inlaid", "w.inlaid", "--dtype", "float16"],
            ["map", "a.inlaid", "-o", "m.html", "--method", "pca", "--top", "30"],
            ["map", "a.inlaid", "-o", "m.png", "--method", "pca", "--top", "30"],
        ):
            typed(*words)
            typed(*words)
        (here / "empty.vec").touch()
        typed("convert", "a.inlaid", "empty.vec")

    @pytest.mark.parametrize("name", ["m.html", "m.png", "m.svg", "m.pdf"])
    def test_an_edited_map_is_no_longer_ours(self, name: str, refused: Any, typed: Any):
        words = ("map", "a.inlaid", "-o", name, "--method", "pca", "--top", "30")
        typed(*words)
        written = Path(name).read_bytes()
        half = len(written) // 2
        for edited in (written[:half] + b"mine" + written[half:], written[:-1], written + b"mine"):
            Path(name).write_bytes(edited)
            assert "--overwrite" in refused(*words)
        typed(*words, "--overwrite")
        assert Path(name).read_bytes() == written

    def test_a_page_of_the_user_that_names_inlaid_is_not_ours(self, refused: Any):
        Path("m.html").write_text('<html><meta name="generator" content="Inlaid">my page</html>')
        words = ("map", "a.inlaid", "-o", "m.html", "--method", "pca", "--top", "30")
        assert "--overwrite" in refused(*words)

    def test_a_checkpoint_and_a_damaged_file_are_no_results(self, refused: Any, here: Path):
        shutil.copy("corpus/corpus.safetensors", "c.inlaid")
        data = bytearray(Path("a.inlaid").read_bytes())
        data[100] ^= 1
        Path("d.inlaid").write_bytes(data)
        for name in ("c.inlaid", "d.inlaid"):
            assert "--overwrite" in refused("convert", "b.inlaid", name)

    def test_in_python(self, here: Path):
        vectors = inlaid.load("a.inlaid")
        inlaid.save(vectors, "v.vec")
        with pytest.raises(WriteError, match="overwrite=True"):
            inlaid.save(vectors, "v.vec")
        inlaid.save(vectors, "v.vec", overwrite=True)
        with pytest.raises(WriteError, match="overwrite=True"):
            inlaid.convert("a.inlaid", "v.vec")
        inlaid.convert("a.inlaid", "v.vec", overwrite=True)
        Path("m.html").write_text("my page")
        with pytest.raises(WriteError, match="overwrite=True"):
            inlaid.map(vectors, output=Path("m.html"), method="pca")
        inlaid.map(vectors, output=Path("m.html"), method="pca", overwrite=True)


class TestTheFormatIsSettledFirst:
    @pytest.mark.parametrize(
        ("output", "problem"),
        [
            ("v.foo", "no format has this suffix"),
            ("v.txt", "files of glove, word2vec-text end in .txt"),
            ("v.vec.zst", "can be written as .gz or .xz; found .zst"),
            ("v.inlaid.gz", "this format is not compressed. Leave out .gz"),
        ],
    )
    def test_before_any_work(self, output: str, problem: str, refused: Any, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(pipeline, "train", None)
        monkeypatch.setattr(storage, "load", None)
        monkeypatch.setattr("inlaid.commands.analyses._loaded", None)
        assert problem in refused("train", "sgns", "corpus", "-o", output)
        assert problem in refused("align", "a.inlaid", "b.inlaid", "same.txt", "-o", output)
        assert problem in refused("convert", "a.inlaid", output)

    def test_a_missing_extra_is_found_before_training(
        self, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        monkeypatch.setattr(pipeline, "train", None)
        monkeypatch.delitem(sys.modules, "pyarrow.parquet", raising=False)
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        assert cli.main(["train", "ppmi", "corpus", "-o", "v.parquet"]) == 2
        assert "pip install 'inlaid[parquet]'" in capsys.readouterr().err

    @pytest.mark.parametrize("name", [entry.name for entry in registry.entries("format")])
    def test_every_format_can_be_trained_into(self, name: str, typed: Any, here: Path):
        typed("train", "ppmi", "corpus", "-o", "out", "--dim", "4", "--format", name)
        assert len(inlaid.load("out", format=name)) > 50

    def test_vectors_that_the_format_cannot_hold_are_saved_all_the_same(
        self, typed: Any, here: Path, monkeypatch: pytest.MonkeyPatch
    ):
        def fail(*_: Any) -> None:
            raise WriteError("no such words")

        monkeypatch.setattr("inlaid.formats.text.refuse_whitespace", fail)
        shown = typed("train", "ppmi", "corpus", "-o", "v.vec", "--dim", "4", code=2)
        assert "v.inlaid instead" in shown.err
        assert inlaid.load("v.inlaid").dim == 4


@pytest.fixture(autouse=True)
def a_terminal_that_closes() -> Iterator[None]:
    """SIGHUP ends a process, as it does unless the tests themselves run under nohup, which ignores it."""
    if not hasattr(signal, "SIGHUP"):
        yield
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def interrupted(patch: pytest.MonkeyPatch, number: int = signal.SIGINT) -> None:
    """A signal arrives after the first checkpoint."""
    save = checkpoint.save

    def save_and_stop(*given: Any) -> None:
        save(*given)
        signal.raise_signal(number)

    patch.setattr(checkpoint, "save", save_and_stop)


class TestPartialVectors:
    @pytest.mark.parametrize("output", ["v.inlaid", "v.vec", "v"])
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_never_replace_a_result_and_are_removed_when_the_run_is_finished(
        self, output: str, number: int, typed: Any, here: Path, monkeypatch: pytest.MonkeyPatch
    ):
        words = ["train", "sgns", "corpus", "-o", output, "--epochs", "9", "--dim", "4"]
        words += ["--checkpoint-minutes", "0"]
        if output == "v":
            words += ["--format", "static-embedding"]
        if output == "v.inlaid":
            shutil.copy("a.inlaid", output)
        before = contents(here)
        with monkeypatch.context() as patch:
            interrupted(patch, number)
            shown = typed(*words, code=130)
        partial = f"{output.removesuffix('.inlaid')}.partial.inlaid"
        assert f"{partial}: " in shown.out
        assert "These vectors are partial" in shown.out
        assert "Continue with the same command and --resume;" in shown.out
        new = {partial, f"{output}.checkpoint"}
        assert {name: data for name, data in contents(here).items() if name not in new} == before
        outcome = inlaid.load(partial).card.outcome
        assert outcome is not None
        assert outcome.reason == "interrupted"
        typed(*words, "--resume")
        assert (here / output).exists()
        new = contents(here).keys() - before.keys()
        assert {Path(name).parts[0] for name in new} <= {output}

    def test_of_a_run_that_is_out_of_time_or_diverged(
        self, typed: Any, here: Path, monkeypatch: pytest.MonkeyPatch
    ):
        shutil.copy("a.inlaid", "v.inlaid")
        before = (here / "v.inlaid").read_bytes()
        words = ["train", "sgns", "corpus", "-o", "v.inlaid", "--dim", "4", "--epochs", "9"]
        reasons = iter([None, None, None, "out of time"])
        with monkeypatch.context() as patch:
            patch.setattr("inlaid.jobs.run._Run._reason", lambda _: next(reasons))
            shown = typed(*words, "--checkpoint", "c", "--minutes", "60")
            assert "These vectors are partial" in shown.out
        assert (here / "v.inlaid").read_bytes() == before
        assert (here / "v.partial.inlaid").exists()
        os.remove("c")
        os.remove("v.partial.inlaid")
        steps = iter([None, None, None, Message("the loss became NaN")])
        with monkeypatch.context() as patch:
            patch.setattr("inlaid.jobs.guard.Losses.add", lambda *_: next(steps))
            shown = typed(*words, "--checkpoint", "c", "--checkpoint-minutes", "0", code=2)
        assert "The last good vectors are in v.partial.inlaid" in shown.err
        assert (here / "v.inlaid").read_bytes() == before
        assert inlaid.load("v.partial.inlaid").dim == 4

    def test_replace_nothing_but_partial_vectors(self, refused: Any, here: Path):
        for name in ("a.inlaid", "more.txt"):
            shutil.copy(name, "v.partial.inlaid")
            error = refused("train", "sgns", "corpus", "-o", "v.inlaid")
            assert "v.partial.inlaid exists and is not a partial result" in error
        words = ("train", "sgns", "corpus", "-o", "x.inlaid", "--checkpoint", "x.partial.inlaid")
        assert "x.partial.inlaid is both the checkpoint and the partial result" in refused(*words)


class TestRescue:
    """What was trained is saved somewhere, whatever happens to the output meanwhile."""

    words = ("train", "ppmi", "corpus", "-o", "v.inlaid", "--dim", "4")

    def test_a_file_of_someone_else_at_the_output(
        self, typed: Any, here: Path, monkeypatch: pytest.MonkeyPatch
    ):
        train = pipeline.train

        def train_and_write(*given: Any, **named: Any) -> Any:
            (here / "v.inlaid").write_text("my notes")
            return train(*given, **named)

        monkeypatch.setattr(pipeline, "train", train_and_write)
        shown = typed(*self.words, code=2)
        assert "v.inlaid already exists" in shown.err
        assert "The vectors are in v-2.inlaid instead" in shown.err
        assert (here / "v.inlaid").read_text() == "my notes"
        assert inlaid.load("v-2.inlaid").dim == 4

    def test_a_full_disk(
        self,
        typed: Any,
        here: Path,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
    ):
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
        fsync = os.fsync

        def full(descriptor: int) -> None:
            if str(here) in os.readlink(f"/proc/self/fd/{descriptor}"):
                raise OSError(errno.ENOSPC, "No space left on device")
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", full)
        before = contents(here)
        shown = typed(*self.words, code=2)
        assert "No space left on device" in shown.err
        assert f"The vectors are in {elsewhere / 'v.inlaid'} instead" in shown.err
        assert inlaid.load(elsewhere / "v.inlaid").dim == 4
        assert contents(here) == before


def test_a_disk_that_is_nearly_full_is_found_before_training(
    refused: Any, here: Path, monkeypatch: pytest.MonkeyPatch
):
    class Nearly:
        f_bavail = 2
        f_frsize = 4096
        f_blocks = 1000

    monkeypatch.setattr(os, "statvfs", lambda _: Nearly)
    monkeypatch.setattr("inlaid.jobs.job.run", None)
    error = refused("train", "sgns", "corpus", "-o", "v.inlaid", "--dim", "300")
    assert re.search(
        r"v.inlaid.checkpoint will take about [\d,]+ bytes, and 8,192 are free on its disk", error
    )


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_leaves_nothing_behind(
    number: int, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def encode(*_: Any, **__: Any) -> None:
        assert (here / ".new.lock").exists()
        signal.raise_signal(number)

    monkeypatch.setattr(pipeline, "encode", encode)
    before = contents(here)
    assert cli.main(["corpus", "text.txt", "-o", "new"]) == 128 + number
    assert capsys.readouterr().err == "terminated\n"
    assert contents(here) == before
    assert signal.getsignal(number) is signal.SIG_DFL


@pytest.fixture
def other(here: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that trains into v.inlaid for a long time, and has saved a checkpoint."""
    words = ["train", "sgns", "corpus", "-o", "v.inlaid", "--epochs", "100000", "--checkpoint-minutes", "0"]
    command = [sys.executable, "-m", "inlaid.cli", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while not (here / "v.inlaid.checkpoint").exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        yield process
        process.kill()


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such locks")
class TestTwoRuns:
    def test_the_second_names_the_first_and_touches_nothing(
        self, other: subprocess.Popen[bytes], typed: Any, here: Path
    ):
        training = ["train", "sgns", "corpus", "-o", "v.inlaid", *SGNS[:4]]
        for words in (
            training,
            [*training, "--resume"],
            [*training[:-4], "--checkpoint", "other"],
            [
                "train",
                "sgns",
                "corpus",
                "-o",
                "other.inlaid",
                "--resume",
                "--checkpoint",
                "v.inlaid.checkpoint",
            ],
            ["convert", "a.inlaid", "v.inlaid"],
        ):
            shown = typed(*words, code=2)
            assert f"is being written by process {other.pid} on " in shown.err
            assert shown.err.count("\n") == 1
        with pytest.raises(WriteError, match=f"process {other.pid}"):
            inlaid.train(
                "text.txt", "sgns", safety=Safety(checkpoint=Path("v.inlaid.checkpoint"), resume=True)
            )
        assert other.poll() is None
        checkpoint.open_saved(Path("v.inlaid.checkpoint"))
        other.kill()
        other.wait()
        assert (here / ".v.inlaid.lock").exists()  # nobody holds it: the next run takes it over
        os.remove("v.inlaid.checkpoint")
        typed(*training)
        assert not [name for name in os.listdir() if name.startswith(".")]

    def test_the_checkpoint_of_another_run_stays(
        self, typed: Any, here: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """Should the file be replaced while the vectors are saved, it is not ours to remove."""
        save = storage.save

        def save_and_replace(*given: Any, **named: Any) -> None:
            save(*given, **named)
            found = checkpoint.open_saved(Path("v.inlaid.checkpoint"))
            about = found.identity | {"corpus": "another"}
            state = State({"table": np.zeros(3, np.float32)})
            checkpoint.save(Path("v.inlaid.checkpoint"), state, None, about, found.progress)

        monkeypatch.setattr(storage, "save", save_and_replace)
        shown = typed("train", "sgns", "corpus", "-o", "v.inlaid", *SGNS[:4])
        assert "the checkpoint stays" in shown.err
        assert "corpus is another there" in shown.err
        assert (here / "v.inlaid.checkpoint").exists()


@pytest.mark.parametrize("length", [246, 255])
def test_a_very_long_name_of_an_output_works(length: int, typed: Any, here: Path):
    """Names in Chinese take three bytes for each character."""
    stem = "词" * ((length - 7) // 3)
    name = f"{stem}{'v' * (length - 7 - len(stem.encode()))}.inlaid"
    typed("train", "sgns", "corpus", "-o", name, *SGNS[:4], "--checkpoint-minutes", "0")
    assert inlaid.load(name).dim == 4
    folder = name.removesuffix(".inlaid")
    typed("corpus", "more.txt", "-o", folder)
    found = {path for path in os.listdir() if path.startswith((".", "词"))}
    assert found == {name, folder}


def test_every_command_that_writes_is_tested_here():
    """A new one needs the checks of `places`, and a line in the tests above."""
    offered = set()
    for name in [*cli.COMMANDS, *(entry.name for entry in registry.entries("analysis"))]:
        words = ["train", "ppmi"] if name == "train" else [name]
        if "--output" in helped(*words) or name == "convert":
            offered.add(name)
    writing = {
        "train",
        "convert",
        "corpus",
        "phrases",
        "world",
        "map",
        "map_texts",
        "cooccurrence",
        "align",
        "embed",
        "translate",
    }
    writing |= {"distill"}  # tests/study/use/test_distill.py
    writing |= {"dimensions", "tour"}  # tests/study/explain/test_dimensions.py, tests/tour
    writing |= {"attend", "attend_step", "heads", "ablate", "attribute"}  # tests/study/attend
    writing |= {"probe", "senses", "drift", "lens", "referents"}  # tests/study/probe
    assert offered == writing


def helped(*words: str) -> str:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit, InlaidError):
        cli.main([*words, "--help"])
    return shown.getvalue()
