"""Native files with right checksums and wrong content, and what commands say about them.

    python tests/contracts/resealed.py FOLDER corpus      # one JSON line for each file and command

A process of its own: a kernel that follows an id out of its array would end the process that runs it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import inlaid
from inlaid import array_writer, arrays
from inlaid.cli import main
from inlaid.jobs import run

HUGE = 1 << 62
Change = Callable[[np.ndarray], np.ndarray]


class Planted(NamedTuple):
    """A change of a file: of one array (None: it is left out), or of one entry of the metadata."""

    name: str
    label: str
    array: Change | None = None
    text: Callable[[str], str] | None = None


def reseal(source: Path, target: Path, planted: Planted) -> None:
    """Write `source` again with a change, and with checksums that are right."""
    opened = arrays.open_arrays(source)
    content: dict[str, Any] = {name: np.array(opened.whole(name)) for name in opened.arrays}
    metadata = dict(opened.metadata)
    if planted.text is not None:
        metadata[planted.name] = planted.text(metadata[planted.name])
    elif planted.array is not None:
        content[planted.name] = planted.array(content[planted.name])
    else:
        del content[planted.name]
    target.unlink(missing_ok=True)
    array_writer.write(target, content, metadata)


def with_number(place: int, number: float) -> Change:
    def change(array: np.ndarray) -> np.ndarray:
        array.reshape(-1)[place] = number
        return array

    return change


def integers(name: str, *numbers: int) -> Iterator[Planted]:
    """Numbers out of range, at the start, in the middle and at the end; other lengths, dtypes and shapes."""
    for number in numbers:
        for place in (0, 5, -1):
            yield Planted(name, f"[{place}] = {number}", with_number(place, number))
    yield from shapes(name)
    yield Planted(name, "NaN", lambda array: np.full(array.shape, np.nan))


def shapes(name: str) -> Iterator[Planted]:
    yield Planted(name, "missing")
    yield Planted(name, "shorter", lambda array: array[:-1])
    yield Planted(name, "longer", lambda array: np.concatenate([array, array[-1:]]))
    yield Planted(name, "empty", lambda array: array[:0])
    yield Planted(name, "one more axis", lambda array: array[None])
    yield Planted(name, "float64", lambda array: array.astype(np.float64))
    yield Planted(name, "bool", lambda array: array.astype(bool))
    yield Planted(name, "[0, 2^62]", lambda array: array_writer.StreamedArray([], array.dtype, (0, HUGE)))  # pyright: ignore[reportReturnType]


def texts(name: str, *values: Any) -> Iterator[Planted]:
    """Metadata that is no JSON, and other JSON."""
    for text in ("", "{", "[" * 100_000, *map(json.dumps, (None, 3, "a", [], {}, [{}], *values))):
        yield Planted(name, text[:60], text=lambda _, text=text: text)
    deep = f', "deep": {"[" * 900}{"]" * 900}}}'  # Python parses it, and what uses it later may not
    yield Planted(name, "deep", text=lambda text: text.removesuffix("}") + deep)


def fields(name: str, *keys: str) -> Iterator[Planted]:
    """A JSON object with a field (a.b is inside of a) missing, null or of another type. Some may be right."""
    for key in keys:
        for value in (None, 3.5, -1, HUGE * HUGE, "a", "", [], [3], {}, {"a": []}, True, float("nan"), 1e308):
            yield Planted(name, f"{key} = {value}"[:60], text=lambda text, k=key, v=value: _set(text, k, v))
        yield Planted(name, f"no {key}", text=lambda text, k=key: _set(text, k))


def _set(text: str, key: str, *value: Any) -> str:
    values = json.loads(text)
    *outer, last = key.split(".")
    inside = values
    for each in outer:
        inside = inside[each]
    inside.pop(last, None)
    if value:
        inside[last] = value[0]
    return json.dumps(values)


def of_words() -> Iterator[Planted]:
    yield from integers("word_offsets", -1, HUGE, -HUGE)
    yield from integers("word_order", -1, 1 << 30, -(1 << 30))
    yield Planted("word_order", "twice", lambda array: np.concatenate([array[:1], array[:-1]]))
    yield from shapes("word_hashes")
    yield Planted("word_hashes", "not sorted", lambda array: array[::-1])
    yield from shapes("words")
    yield Planted("words", "not UTF-8", lambda array: np.full(array.shape, 0xFF, np.uint8))


def of_counts() -> Iterator[Planted]:
    yield from integers("counts", -1, HUGE, -HUGE)
    yield Planted("counts", "text", lambda array: np.frombuffer(b"a" * len(array), np.uint8).reshape(-1, 1))


def of_table(name: str) -> Iterator[Planted]:
    yield from shapes(name)
    for number in (np.nan, np.inf, -np.inf):
        yield Planted(name, f"{number}", with_number(7, number))


def of_scales(name: str) -> Iterator[Planted]:
    yield from shapes(name)
    for number in (np.nan, np.inf, -1.0, 3e38):
        yield Planted(name, f"{number}", with_number(2, number))


def of_corpus() -> Iterator[Planted]:
    yield from integers("ids", -1, 1 << 30, -(1 << 30))
    yield from integers("offsets", -1, HUGE, -HUGE, 3)
    yield from of_words()
    yield from of_counts()
    yield Planted("counts", "all 0", lambda array: array * 0)
    yield from texts("manifest")
    yield from fields("manifest", "encoding", "sentences", "tokens", "words", "lint", "hash")
    yield from fields("manifest", "encoding.normalize", "tokens.dropped", "tokens.used", "lint.nul_bytes")


def of_vectors() -> Iterator[Planted]:
    yield from of_table("table")
    yield from of_table("contexts")
    yield from of_words()
    yield from of_counts()
    yield from texts("card")
    yield from fields("card", "method", "settings", "corpus", "encoding", "version", "scores")
    yield from fields("card", "outcome", "notes")
    yield from fields("card", "encoding.normalize", "encoding.spelling", "outcome.marks", "outcome.reason")


def of_int8() -> Iterator[Planted]:
    yield from shapes("table")
    yield from of_scales("table.scales")
    yield from of_scales("contexts.scales")


def of_ngrams() -> Iterator[Planted]:
    yield from of_table("ngrams.own")
    yield from of_table("ngrams.buckets")
    yield from integers("ngrams.kept", -1, (1 << 31) - 1)
    yield from texts("ngrams")
    yield from fields("ngrams", "size", "min_n", "max_n")


def of_checkpoint() -> Iterator[Planted]:
    yield from of_table("table")
    yield from of_table("contexts")
    yield from texts("checkpoint")
    yield from fields("checkpoint", "format", "identity", "progress", "dtypes", "best", "identity.total")
    yield from fields(
        "checkpoint", "identity.settings", "progress.done", "progress.seconds", "progress.marks"
    )
    yield from fields("checkpoint", "progress.losses", "progress.losses.average", "dtypes.table")


KINDS: dict[str, Callable[[], Iterator[Planted]]] = {
    "corpus": of_corpus,
    "vectors": of_vectors,
    "int8": of_int8,
    "ngrams": of_ngrams,
    "checkpoint": of_checkpoint,
}
FILES = {
    "corpus": "corpus/corpus.safetensors",
    "vectors": "two-tables.inlaid",
    "int8": "int8.inlaid",
    "ngrams": "ngrams.inlaid",
    "checkpoint": "run.checkpoint",
}
TRAINING = "train sgns corpus -o out.inlaid --dim 8 --epochs 3"
COMMANDS = {
    "corpus": [
        "verify bad",
        "train sgns bad -o out.inlaid --dim 8 --epochs 1",
        "train ppmi bad -o out.inlaid --dim 8",
        "phrases bad -o out",
        "cooccurrence bad king",
        "explain two-tables.inlaid king man --corpus bad",
        "train fasttext bad -o out.inlaid --dim 8 --epochs 1 --buckets 100",
        "train glove bad -o out.inlaid --dim 8 --epochs 1",
        "info bad",
        "tokenize king --corpus bad",
    ],
    "vectors": [
        "verify bad.inlaid",
        "neighbors bad.inlaid king",
        "analogy bad.inlaid king-man+woman",
        "convert bad.inlaid out.vec",
        "evaluate bad.inlaid pairs.txt",
        "doctor bad.inlaid",
        "info bad.inlaid",
        "vector bad.inlaid king",
        "fill bad.inlaid the___eats",
        "train sgns corpus -o out.inlaid --dim 8 --epochs 1 --init-from bad.inlaid",
    ],
    "checkpoint": [f"{TRAINING} --checkpoint bad.checkpoint --resume"],
}
COMMANDS["int8"] = COMMANDS["ngrams"] = [*COMMANDS["vectors"][:-2], "neighbors bad.inlaid kingkong"]


def prepare() -> None:
    """The good files, beside those of the workshop."""
    inlaid.save(inlaid.load("two-tables.inlaid"), "int8.inlaid", dtype="int8")
    command = "train fasttext corpus -o ngrams.inlaid --dim 8 --epochs 1 --buckets 9000"
    assert main(command.split()) == 0
    reason = run._Run._reason
    run._Run._reason = lambda self: "interrupted" if self.progress.done else None
    main([*TRAINING.split(), "--checkpoint", FILES["checkpoint"]])
    assert Path(FILES["checkpoint"]).is_file()
    run._Run._reason = reason


def attempt(command: str) -> tuple[int | None, str]:
    """Type a command; how it ended (None: with a traceback), and what it said."""
    for path in map(Path, ("out", "out.inlaid", "out.vec")):
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = main(command.split())
    except BaseException:  # whatever escapes is what we look for
        return None, traceback.format_exc()
    return code, said.getvalue()


def campaign(kind: str) -> None:
    """Every planted change of a kind of file, with one of the commands in turn; a change of an array also
    with the first command."""
    first, *others = COMMANDS[kind]
    source = Path(FILES[kind])
    bad = Path("bad.checkpoint" if kind == "checkpoint" else "bad.inlaid")
    if kind == "corpus":
        shutil.copytree("corpus", "bad")
        bad = Path("bad") / source.name
    for number, planted in enumerate(KINDS[kind]()):
        reseal(source, bad, planted)
        commands = [others[number % len(others)]] if others else []
        if planted.text is None or not others:
            commands.append(first)
        for command in commands:
            # before it is run: if it ends the process, this line says which one did
            sys.stdout.write(json.dumps([planted.name, planted.label, command]))
            sys.stdout.flush()
            sys.stdout.write(f"{json.dumps(attempt(command))}\n")


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    if sys.argv[2:] == ["prepare"]:
        prepare()
    else:
        campaign(sys.argv[2])
