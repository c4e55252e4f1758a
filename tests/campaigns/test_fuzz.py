"""The fuzzer finds what it is for: planted crashes, hangs, tracebacks, floods of memory and wrong reads."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from inlaid import registry
from inlaid.arrays import open_arrays
from inlaid.errors import FormatError

sys.path.insert(0, str(Path(__file__).parent))

from fuzz import campaign, repack, samples, server, structure, targets
from fuzz.bytes import lines, raw
from tally import Tally

pytestmark = pytest.mark.filterwarnings("ignore")  # zip files with a name twice, overflowing numbers
MANY = range(200)


def refuse() -> None:
    raise FormatError("No.")


def fail() -> None:
    raise KeyError("word")


def loop() -> None:
    while True:
        pass


def flood() -> bytes:
    return bytes(1 << 28)


def planted(use: Callable[[], Any], *, exact: bool = False) -> targets.Target:
    """A target whose mutants meet `use`; the valid file does not."""

    def read(path: Path) -> Any:
        data = path.read_bytes()
        return data if data == b"valid" else use()

    def make(folder: Path) -> Iterator[targets.Sample]:
        path = folder / "file"
        path.write_bytes(b"valid")
        changes = {"raw": (("*", lambda data, random: b"mutant of %s, %d" % (data, random.random())),)}
        yield targets.Sample(path, read, changes, exact=("raw",) if exact else ())

    return targets.Target("planted", make)


@pytest.mark.parametrize(
    ("use", "outcome"),
    [
        (refuse, "refused"),
        (lambda: b"valid", "same"),
        (lambda: b"other", "read"),
        (fail, "traceback"),
        (lambda: sys.exit(1), "traceback"),
        (os.abort, "crash"),
        (lambda: os._exit(1), "crash"),
        (loop, "hang"),
        (flood, "memory"),
    ],
)
def test_every_outcome_is_told_from_the_others(
    use: Callable[[], Any], outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(server, "CPU_SECONDS", 0.1)
    found = list(server.Server(planted(use), tmp_path).run(range(3)))
    assert [(each.seed, each.outcome) for each in found] == [(seed, outcome) for seed in range(3)]


def test_a_native_file_read_as_another_is_wrong(tmp_path: Path):
    found = server.Server(planted(lambda: b"other", exact=True), tmp_path).run([0])
    assert [each.outcome for each in found] == ["wrong"]


def test_what_is_paid_once_is_no_failure(tmp_path: Path):
    """Compiling takes memory and time in the first mutant of a worker; the second turn is measured."""
    held = list[bytes]()

    def compile_once() -> bytes:
        if not held:
            held.append(bytes(1 << 28))
        return b"other"

    assert [each.outcome for each in server.Server(planted(compile_once), tmp_path).run([0])] == ["read"]


def test_runs_add_up_and_repaired_failures_are_counted_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    outcomes = dict[str, int]()
    for use, seeds, expected in (
        (fail, 5, {"traceback": 5}),
        (refuse, 3, {"refused": 8}),
        (refuse, 2, {"refused": 10}),
    ):
        tally = Tally.open(tmp_path / "fuzz.json")
        run = campaign.Campaign("fuzz", {"planted": planted(use)}, tally, tmp_path / "failures", jobs=2)
        assert run.run(["planted"], seeds) == expected.get("traceback", 0)
        counts = Tally.open(tmp_path / "fuzz.json").counts
        outcomes = {name: count for name, count in counts["fuzz"]["planted | raw"].items() if count}
        assert outcomes == expected
        assert len(list((tmp_path / "failures").glob("*"))) == expected.get("traceback", 0)
    assert counts["fuzz: seeds"]["planted"] == {"seeds": 10}
    assert "planted 0 (raw) traceback" in capfd.readouterr().out


def test_every_format_has_mutants():
    assert {entry.name for entry in registry.entries("format")} == {target.name for target in targets.FORMATS}


@pytest.mark.parametrize("name", ["native", "npz", "text", "fasttext"])
def test_a_seed_gives_the_same_mutant_again(name: str, tmp_path: Path):
    found = list[list[bytes]]()
    for turn in ("one", "two"):
        folder = tmp_path / turn
        folder.mkdir()
        made = list(targets.TARGETS[name].make(folder))
        originals = targets.originals_of(made)
        found.append([targets.mutant(name, made, originals, seed).data for seed in range(40)])
    assert found[0] == found[1]
    assert len(set(found[0])) > 30


def test_a_resealed_file_has_right_checksums_and_other_content(tmp_path: Path):
    path = samples.saved(tmp_path / "v.inlaid", "native", samples.vectors(ngrams=True))
    data = path.read_bytes()
    opened = 0
    for seed in MANY:
        path.write_bytes(repack.resealed(data, Random(seed)))
        with contextlib.suppress(FormatError, ValueError):
            opened += open_arrays(path).verify() > 0
    assert opened > 0.8 * len(MANY)


def mutants(name: str, kind: str, folder: Path) -> list[bytes]:
    made = list(targets.TARGETS[name].make(folder))
    originals = targets.originals_of(made)
    found = [targets.mutant(name, made, originals, seed) for seed in MANY]
    chosen = [each.data for each in found if each.kind == kind]
    assert len(chosen) > 10  # or a test of each of them would test nothing
    return chosen


def test_an_archive_is_whole_after_its_content_was_changed(tmp_path: Path):
    for data in mutants("npz", "re-zipped", tmp_path):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.testzip() is None


def test_a_header_has_its_length_after_it_was_changed(tmp_path: Path):
    for data in mutants("native", "header", tmp_path):
        size = int.from_bytes(data[:8], "little")
        assert size % 8 == 0
        assert size + 8 <= len(data)


def test_messages_keep_their_lengths():
    pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    data = samples.sentencepiece("unigram")
    assert structure._message(structure._parsed(data)) == data
    changed = [structure.protobuf(data, Random(seed)) for seed in MANY]
    assert all(structure._parsed(each) for each in changed)
    assert len(set(changed)) > 0.9 * len(MANY)


def test_json_has_keys_twice_and_nests_deeply():
    changed = [structure.json_text(b'{"a": [1, 2], "b": {"c": "x"}}', Random(seed)) for seed in range(2000)]
    assert any(each.count(b'"a":') == 2 for each in changed)
    assert any(b"[" * 100_000 in each for each in changed)
    assert any(b"1e400" in each for each in changed)


@pytest.mark.parametrize("change", [raw, lines])
def test_plain_changes_change_something(change: Any):
    data = b"the 1 2 3\nof 4 5 6\n"
    assert np.mean([change(data, Random(seed)) != data for seed in MANY]) > 0.8
