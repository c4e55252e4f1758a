"""Every call by which a writer changes the disk fails once, in every way. Is nothing ever lost?

    python tests/campaigns/fault_test.py               # what `make fault-test` runs: every call, every error
    python tests/campaigns/fault_test.py --limit 20    # at most 20 faults of each writer, those that are next
    python tests/campaigns/fault_test.py --only native corpus

A library of a few lines of C, preloaded before libc, counts the calls of open, write, fsync, rename, unlink,
close and their like below a folder, and lets one of them fail. Each writer runs once to count its calls, then
once for each call and error, in a process forked from a warm one. Afterwards, the old file must be intact or
the new one whole, nothing may be left behind, and the error must be a WriteError (in Python) or one line (on
the command line). Where the system call asks to be repeated (EINTR, a short write), there must be no error.
What was done adds up in a file, over runs.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import functools
import importlib.util
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tally import Tally

HERE = Path(__file__).parent
LIBRARY = "INLAID_FAULTS"
"""The variable that names the preloaded library."""
SHORT = -1
ERRORS = {
    "ENOSPC": errno.ENOSPC,
    "EIO": errno.EIO,
    "EDQUOT": errno.EDQUOT,
    "EINTR": errno.EINTR,
    "short": SHORT,
}
CALLS = {
    "o": "open",
    "w": "write",
    "s": "fsync",
    "t": "ftruncate",
    "a": "fallocate",
    "c": "close",
    "p": "chmod",
    "m": "mkdir",
    "r": "rename",
    "u": "unlink",
}
INTERRUPTIBLE = "owsta"
"""Calls that a signal can interrupt, and that are repeated then."""
CAMPAIGN = "faults"
BAD = "BAD"
OUTCOMES = ("error, old file", "error, new file", "no error", BAD)
SECONDS = 60
"""A writer that takes longer hangs."""


class Writer(NamedTuple):
    """Something that writes: what is there before, the work, and the result, read back."""

    name: str
    prepare: Callable[[Path], None]
    write: Callable[[Path], None]
    read: Callable[[Path], bytes]
    names: frozenset[str]
    """What may be in the folder afterwards."""


class Fault(NamedTuple):
    call: int
    letter: str
    error: str

    def __str__(self) -> str:
        return f"{CALLS[self.letter]} (call {self.call}), {self.error}"


class Failed(Exception):
    """A command that ended with an error, in one line."""


class WrongError(Exception):
    """A command that ended with something else."""


# --- the writers


def command(*words: str | Path) -> str:
    """Type a command, whose error must be one line; its notes."""
    from inlaid.cli import main

    shown = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(shown):
        code = main([str(word) for word in words])
    lines = shown.getvalue().splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    if code == 2 and len(errors) == 1 and "Errno" not in errors[0]:
        raise Failed(errors[0])
    if code or errors:
        raise WrongError(f"code {code}: {lines}")
    return shown.getvalue()


def writers(text: Path) -> Iterator[Writer]:
    yield from format_writers()
    yield from study_writers(text)
    yield from text_writers(text)
    yield from training_writers(text)
    if importlib.util.find_spec("torch"):
        yield from network_writers(text)


def sample(seed: int = 1) -> Any:
    import numpy as np

    from inlaid.encode.vocabulary import Words
    from inlaid.vectors import Vectors

    words = ["the", "猫", "naïve", "北京", *(f"w{n}" for n in range(400))]
    table = np.random.default_rng(seed).standard_normal((len(words), 12)).astype(np.float32)
    return Vectors(Words.of(words), table, np.arange(len(words), 0, -1))


def nothing(folder: Path) -> None:
    pass


def file_writer(
    name: str, file: str, write: Callable[[Path], None], before: Callable[[Path], None] | None = None
) -> Writer:
    """A writer of one file, which replaces another."""

    def prepare(folder: Path) -> None:
        (folder / file).write_bytes(b"old")

    return Writer(
        name,
        before or prepare,
        lambda folder: write(folder / file),
        lambda folder: (folder / file).read_bytes(),
        frozenset([file]),
    )


def folder_writer(name: str, write: Callable[[Path], None]) -> Writer:
    """A writer of a folder, which must not exist."""

    def read(folder: Path) -> bytes:
        files = sorted(path for path in (folder / "out").rglob("*") if path.is_file())
        return b"".join(path.name.encode() + path.read_bytes() for path in files)

    return Writer(name, nothing, lambda folder: write(folder / "out"), read, frozenset(["out"]))


def format_writers() -> Iterator[Writer]:
    import inlaid
    from inlaid import registry

    vectors = sample()
    targets = [(entry.name, (*entry.load().SUFFIXES, "")[0]) for entry in registry.entries("format")]
    targets += [("glove", ".txt.gz"), ("word2vec", ".bin.xz")]
    for format, suffix in targets:
        if format == "parquet" and not importlib.util.find_spec("pyarrow"):
            continue

        def save(path: Path, format: str = format) -> None:
            inlaid.save(vectors, path, format=format, overwrite=True, report=print_nothing)

        yield file_writer(format + suffix, f"v{suffix}", save) if suffix else folder_writer(format, save)
    yield file_writer(
        "native int8",
        "v.inlaid",
        lambda path: inlaid.save(vectors, path, dtype="int8", overwrite=True, report=print_nothing),
    )


def study_writers(text: Path) -> Iterator[Writer]:
    import inlaid
    from inlaid.study import figures
    from inlaid.study.map import pictures
    from inlaid.study.map.pictures import draw_map

    vectors = sample()
    source = text.parent / "source.inlaid"
    inlaid.save(vectors, source, report=print_nothing)
    map = inlaid.map(vectors, [f"w{n}" for n in range(40)], method="pca")
    yield file_writer("map html", "m.html", lambda path: draw_map(map, path, overwrite=True))
    if importlib.util.find_spec("matplotlib"):
        drawn = figures.saved(map.figure(), ".png")
        pictures.figure = lambda *_, **__: None  # drawing takes a second, and writes nothing
        figures.saved = lambda *_: drawn
        yield file_writer("map png", "m.png", lambda path: draw_map(map, path, overwrite=True))
    yield file_writer(
        "inlaid convert", "v.vec", lambda path: ignore(command("convert", source, path, "--overwrite"))
    )
    pairs = text.parent / "pairs.txt"
    pairs.write_text("".join(f"w{n} w{n}\n" for n in range(100)))
    words = ["align", source, source, pairs]
    yield file_writer(
        "inlaid align", "v.inlaid", lambda path: ignore(command(*words, "-o", path, "--overwrite"))
    )


def text_writers(text: Path) -> Iterator[Writer]:
    import numpy as np

    import inlaid
    from inlaid import files

    files.SPOOL_BYTES = 1000  # a small text uses temporary files as a large one does
    yield folder_writer("corpus", lambda path: ignore(inlaid.corpus(text, path, workers=1, min_count=1)))
    yield folder_writer(
        "corpus bpe",
        lambda path: ignore(inlaid.corpus(text, path, workers=1, tokenizer="bpe", subwords=300)),
    )
    corpus = inlaid.corpus(text, min_count=1)
    yield folder_writer("phrases", lambda path: ignore(inlaid.phrases(corpus, path)))
    yield folder_writer(
        "inlaid corpus", lambda path: ignore(command("corpus", text, "-o", path, "--workers", "1"))
    )
    words = ["world", "--words", "3000", "--overwrite"]
    yield file_writer("inlaid world", "w.txt", lambda path: ignore(command(*words, "-o", path)))

    def scratch(path: Path) -> None:
        tempfile.tempdir = str(path.parent)
        files.scratch((1000,), np.int32)[:] = 7
        files.write_text(path, "done")

    yield file_writer("scratch", "done", scratch)


def training_writers(text: Path) -> Iterator[Writer]:
    words = ["train", "sgns", text, "--dim", "8", "--epochs", "2", "--min-count", "1", "--workers", "1"]
    names = frozenset(["v.inlaid", "v.inlaid.checkpoint", "v-2.inlaid"])  # the last one is a rescued result

    def table(folder: Path) -> bytes:
        """The table, and that a rescued one can be read."""
        import inlaid

        if (folder / "v-2.inlaid").exists():
            inlaid.load(folder / "v-2.inlaid").table.sum()
        path = folder / "v.inlaid"
        return path.read_bytes() if path.read_bytes() == b"old" else inlaid.load(path).table.tobytes()

    def old(folder: Path) -> None:
        (folder / "v.inlaid").write_bytes(b"old")

    yield from runs("inlaid train", [*words, "--overwrite"], Writer("", old, ignore, table, names))


def runs(name: str, words: list[Any], writer: Writer) -> Iterator[Writer]:
    """A training from its start, and one that continues from its first checkpoint. `writer` says what is
    there before them, what they write, first of all the output, and how that is read."""
    output = min(writer.names, key=len)
    checkpoint_name = f"{output}.checkpoint"
    words = [*words, "--checkpoint-minutes", "0"]
    saved = list[bytes]()

    def train(folder: Path) -> None:
        notes = command(*words, "-o", folder / output)
        if (folder / checkpoint_name).exists() and "the checkpoint stays" not in notes:
            raise WrongError("the checkpoint of a finished run stayed, without a note")

    def interrupted(folder: Path) -> None:
        """A run that was killed after its first checkpoint."""
        writer.prepare(folder)
        if not saved:
            saved.append(first_checkpoint(words, folder / output))
        (folder / checkpoint_name).write_bytes(saved[0])

    def resume(folder: Path) -> None:
        command(*words, "-o", folder / output, "--resume")

    def read(folder: Path) -> bytes:
        """The result, and that a checkpoint can be resumed."""
        from inlaid.jobs import checkpoint

        if (folder / checkpoint_name).exists():
            checkpoint.open_saved(folder / checkpoint_name).opened.verify()
        return writer.read(folder)

    yield writer._replace(name=name, write=train, read=read)
    yield writer._replace(name=f"{name} --resume", prepare=interrupted, write=resume, read=read)


def first_checkpoint(words: list[Any], output: Path) -> bytes:
    """The first checkpoint of a run."""
    from inlaid.jobs import checkpoint

    class Stop(Exception):
        pass

    save = checkpoint.save

    def save_and_stop(*given: Any) -> None:
        save(*given)
        raise Stop

    checkpoint.save = save_and_stop
    try:
        with contextlib.suppress(Stop):
            command(*words, "-o", output)
        return output.with_name(f"{output.name}.checkpoint").read_bytes()
    finally:
        checkpoint.save = save


def network_writers(text: Path) -> Iterator[Writer]:
    """Folders of models, trainings of networks, and what is written with models."""
    import torch

    from inlaid.collect import world
    from inlaid.neural.checkpoint import load_model, save_model

    torch.set_num_threads(1)
    pairs = text.parent / "pairs.tsv"
    pairs.write_text("".join(f"{pair.zh}\t{pair.en}\n" for pair in world.pairs(words=1500)), "utf-8")
    small = ["--dim", "8", "--layers", "1", "--epochs", "1", "--max-length", "32"]
    small += ["--tokenizer", "bpe", "--subwords", "400"]
    names = frozenset(["model", "model.checkpoint"])
    for method, source in (("causal", text), ("translation", pairs), ("contrastive", pairs)):
        words = ["train", method, source, *small]
        model = text.parent / method
        command(*words, "-o", model)
        loaded = load_model(model)
        yield folder_writer(f"model folder of {method}", functools.partial(save_model, loaded))
        yield from runs(f"inlaid train {method}", words, Writer("", nothing, ignore, model_files, names))
    sentence = "我喜欢苹果"
    words = ["translate", text.parent / "translation", sentence, "--max-new-tokens", "4", "--overwrite"]
    yield file_writer("inlaid translate", "t.txt", lambda path: ignore(command(*words, "-o", path)))
    for suffix in (".npz", ".inlaid", *([".parquet"] if importlib.util.find_spec("pyarrow") else [])):
        embed = ["embed", text.parent / "contrastive", sentence, "--overwrite", "-o"]
        write = functools.partial(lambda words, path: ignore(command(*words, path)), embed)
        yield file_writer(f"inlaid embed {suffix}", f"e{suffix}", write)


def model_files(folder: Path) -> bytes:
    """The files of a model, which must load; the card has a time in it and is left out."""
    from inlaid.neural.checkpoint import load_model

    if not (folder / "model").exists():
        raise FileNotFoundError
    load_model(folder / "model")
    files = sorted(path for path in (folder / "model").rglob("*") if path.is_file())
    return b"".join(path.name.encode() + path.read_bytes() for path in files if path.name != "card.json")


def print_nothing(event: object) -> None:
    pass


def ignore(result: object) -> None:
    pass


# --- one fault, in a forked process


def library() -> ctypes.CDLL:
    found = ctypes.CDLL(os.environ[LIBRARY])
    found.fault_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
    found.fault_calls.restype = ctypes.c_char_p
    return found


def forked(work: Callable[[], bytes]) -> bytes:
    """What `work` gives, in a process of its own."""
    reader, pipe = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            import signal

            signal.alarm(SECONDS)
            os.close(reader)
            answer = work()
        except BaseException:
            answer = b"BAD " + traceback.format_exc().encode()
        with os.fdopen(pipe, "wb") as file:
            file.write(answer)
        os._exit(0)
    os.close(pipe)
    with os.fdopen(reader, "rb") as file:
        answer = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return answer if status == 0 else f"BAD the process ended with {status}".encode()


def count(writer: Writer, faults: ctypes.CDLL) -> tuple[str, bytes]:
    """The letters of all calls of a writer that is left alone, and its result."""

    def work() -> bytes:
        with tempfile.TemporaryDirectory(prefix="faults-") as name:
            folder = Path(name)
            writer.prepare(folder)
            faults.fault_arm(name.encode(), 0, 0)
            writer.write(folder)
            letters = faults.fault_calls()
            faults.fault_arm(b"", 0, 0)
            return letters + b"\n" + writer.read(folder)

    answer = forked(work)
    if answer.startswith(b"BAD "):
        raise SystemExit(f"{writer.name} fails without a fault: {answer.decode()}")
    letters, _, result = answer.partition(b"\n")
    return letters.decode(), result


def strike(writer: Writer, fault: Fault, expected: bytes, faults: ctypes.CDLL) -> str:
    """Let one call fail; the outcome in a word, or BAD and what was wrong."""

    def work() -> bytes:
        with tempfile.TemporaryDirectory(prefix="faults-") as name:
            return _outcome(writer, fault, expected, faults, Path(name)).encode()

    return forked(work).decode(errors="replace")


def _outcome(writer: Writer, fault: Fault, expected: bytes, faults: ctypes.CDLL, folder: Path) -> str:
    from inlaid.errors import WriteError

    writer.prepare(folder)
    before = _content(writer, folder)
    faults.fault_arm(str(folder).encode(), fault.call, ERRORS[fault.error])
    problem: Exception | None = None
    try:
        writer.write(folder)
    except (WriteError, Failed) as error:
        problem = error
    finally:
        faults.fault_arm(b"", 0, 0)
    after = _content(writer, folder)
    if after != expected and (problem is None or after != before):
        return f"BAD neither the old nor the new file is there, after {problem}"
    if fault.error in ("EINTR", "short") and fault.letter in INTERRUPTIBLE and problem is not None:
        return f"BAD the call was not repeated: {problem}"
    if "in place" in str(problem) and after != expected:
        return f"BAD it is not in place: {problem}"
    left = set(os.listdir(folder)) - writer.names
    if left and fault.letter != "u":
        return f"BAD left {left} after {problem}"
    if left and not _swept(writer, folder):
        return f"BAD {left} is not removed by the next writer"
    if problem is None:
        return "no error"
    return "error, new file" if after == expected else "error, old file"


def _swept(writer: Writer, folder: Path) -> bool:
    """Whether the next run of a writer removes what a failed removal left."""
    for name in writer.names:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).unlink(missing_ok=True)
    writer.prepare(folder)
    writer.write(folder)
    return set(os.listdir(folder)) <= writer.names


def _content(writer: Writer, folder: Path) -> bytes | None:
    try:
        return writer.read(folder) or None
    except FileNotFoundError:
        return None


# --- the campaign


def faults_of(letters: str) -> list[Fault]:
    found: list[Fault] = []
    for call, letter in enumerate(letters, 1):
        for error in ERRORS:
            if error == "short" and letter != "w":
                continue
            if error == "EINTR" and letter not in INTERRUPTIBLE:
                continue
            found.append(Fault(call, letter, error))
    random.Random(1).shuffle(found)  # a short run tries calls of every kind
    return found


def campaign(writer: Writer, limit: int | None, tally: Tally, faults: ctypes.CDLL) -> None:
    """Faults of one writer, those that are next."""
    letters, expected = count(writer, faults)
    every = faults_of(letters)
    first = tally.seed(CAMPAIGN, writer.name)
    for n in range(min(limit or len(every), len(every))):
        fault = every[(first + n) % len(every)]
        outcome = strike(writer, fault, expected, faults)
        if outcome.startswith(f"{BAD} "):
            print(f"{writer.name}: {fault}: {outcome.removeprefix(f'{BAD} ')}", flush=True)
            outcome = BAD
        tally.add(CAMPAIGN, writer.name, outcome)


def preload() -> None:
    """Build the library and start again with it."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        print("not run: faults are injected by a library for Linux, which needs a C compiler (cc)")
        sys.exit(1 if os.environ.get("CI") else 0)
    folder = tempfile.mkdtemp(prefix="faults-library-")
    target = f"{folder}/faults.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", target, str(HERE / "faults.c"), "-ldl"]
    subprocess.run(command, check=True)
    more = {LIBRARY: target, "LD_PRELOAD": target, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run([sys.executable, *sys.argv], env=os.environ | more)
    shutil.rmtree(folder)
    sys.exit(ended.returncode)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=int, help="faults of each writer; all of them by default")
    parser.add_argument("--only", nargs="*", help="names of writers")
    parser.add_argument("--state", type=Path, default=Path(".campaigns/faults.json"), help="what was done")
    options = parser.parse_args()
    if LIBRARY not in os.environ:
        preload()
    tally = Tally.open(options.state)
    before = tally.count(CAMPAIGN, BAD)
    faults = library()
    with tempfile.TemporaryDirectory(prefix="faults-text-") as name:
        from inlaid.collect import world

        text = Path(name, "text.txt")
        text.write_text("\n".join(world.sentences("en", words=2000)), "utf-8")
        waiting = set(options.only or ())
        for writer in writers(text):
            if options.only and writer.name not in options.only:
                continue
            warm(writer)
            campaign(writer, options.limit, tally, faults)
            tally.save()
            waiting.discard(writer.name)
            if options.only and not waiting:  # the next writers need inputs of their own
                break
    print(tally.table(CAMPAIGN, heads=("writer",), outcomes=OUTCOMES))
    return 1 if tally.count(CAMPAIGN, BAD) > before else 0


def warm(writer: Writer) -> None:
    """Compile and import before the processes fork."""
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        writer.prepare(Path(name))
        writer.write(Path(name))
    tempfile.tempdir = None


if __name__ == "__main__":
    sys.exit(main())
