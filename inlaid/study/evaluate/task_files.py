"""Files and folders of tasks -> tasks; the kind is told by the content."""

from __future__ import annotations

import ast
import csv
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from inlaid.collect.world import Language
from inlaid.encode.chinese import HAN
from inlaid.errors import FormatError, SourceError
from inlaid.report import Note, Report, silent
from inlaid.study.evaluate.task_layouts import (
    SECTIONS,
    SPACED_PAIRS,
    SPACED_TEXTS,
    Layout,
    fits,
    recognize,
    spaced_pair,
    spaced_text,
)
from inlaid.study.evaluate.tasks import Analogies, Categories, Outliers, SentencePairs, Task, Texts, WordPairs

HEAD = 1 << 16
"""Bytes looked at to tell the kind of a file."""
TESTED = 5
"""Every fifth text is for testing, where a file has no parts of its own."""
PART = re.compile(r"(?:^|[._-])(train|test|dev|valid|val)(?=[._-]|$)", re.IGNORECASE)
ROLES = ("test", "dev", "valid", "val")
"""Parts to test on, the best first."""
SHOWN = 8


@dataclass(frozen=True)
class Record:
    """A line of a file: its number, and its cells by column."""

    line: int
    cells: dict[str, str]


@dataclass(frozen=True)
class Labelled:
    """Texts with labels, of which one file is a part."""

    path: Path
    items: tuple[tuple[str, str], ...]

    @property
    def part(self) -> str:
        found = PART.search(self.path.name)
        return found[1].lower() if found else ""

    @property
    def whole(self) -> Path:
        """What the file is a part of: its name without the part, or its folder where nothing else is left."""
        rest = PART.sub("", re.sub(r"\.(?:txt|tsv|csv)$", "", self.path.name), count=1).strip("._-")
        return self.path.resolve().parent / rest


def read_tasks(paths: Sequence[Path], report: Report = silent) -> list[Task]:
    """The tasks of files and folders. A folder is all its recognised files; the others are named in a note.

    Texts with labels find each other: `train` and `test` (or `dev`) of one name are one task. A file without
    parts is split by the texts themselves, so that the same text is never on both sides.
    """
    found: list[Task] = []
    labelled: list[Labelled] = []
    for path in paths:
        for held in _read_folder(path, report) if path.is_dir() else [read_file(path)]:
            if isinstance(held, Labelled):
                labelled.append(held)
            else:
                found.append(held)
                report(Note(f"{held.name}: taken as {held.kind}, {held.language}."))
    return found + _classifications(labelled, report)


def read_file(path: Path) -> Task | Labelled:
    """What one file holds; SourceError if it is no task, FormatError for a line that does not fit the
    others."""
    if not path.is_file():
        raise SourceError(f"There is no file or folder '{path}'.")
    layout = _layout(path)
    if layout is None:
        raise SourceError(
            f"{path}: no task is recognised in it. Expected pairs of words or sentences with a score, analogies, "
            "words with categories, or texts with labels; `docs/evaluate.md` shows each."
        )
    return _made(path, layout, list(_records(path, layout)))


def _read_folder(folder: Path, report: Report) -> Iterator[Task | Labelled]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    layouts = {path: _layout(path) for path in paths}
    left = [str(path.relative_to(folder)) for path in paths if layouts[path] is None]
    if len(left) == len(paths):
        raise SourceError(f"{folder}: no task is recognised in any of its {len(paths):,} files.")
    if left:
        more = f" and {len(left) - SHOWN:,} more" if len(left) > SHOWN else ""
        report(
            Note(f"{folder}: passed over, as no task is recognised in them: {', '.join(left[:SHOWN])}{more}.")
        )
    for path, layout in layouts.items():
        if layout is not None:
            yield _made(path, layout, list(_records(path, layout)))


def _layout(path: Path) -> Layout | None:
    with path.open("rb") as file:
        head = file.read(HEAD)
    if b"\0" in head:
        return None
    lines = head.decode("utf-8-sig", "replace").splitlines()
    return recognize(lines[:-1] if len(head) == HEAD else lines)


# --- lines into records
# -------------------------------------------------------------------------------------------------


def _records(path: Path, layout: Layout) -> Iterator[Record]:
    """Each line cut as the layout says; the first that cannot be raises FormatError with its number."""
    section = ""
    for line, row in _rows(path, layout):
        text = row if isinstance(row, str) else ""
        if layout is SECTIONS and text.startswith(":"):
            section = text[1:].strip()
            continue
        cells = _cells(row, layout)
        if cells is None or not fits(cells, layout):
            shown = text or (layout.delimiter or "").join(row)
            raise FormatError(
                f"{path}:{line}: expected {layout.expected}, found {shown[:60]!r}. Mend the line or take it out."
            )
        yield Record(line, cells | ({"section": section} if layout is SECTIONS else {}))


def _rows(path: Path, layout: Layout) -> Iterator[tuple[int, str | list[str]]]:
    """Lines with something in them, with their numbers; lists of cells where commas and quotes cut them."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise FormatError(f"{path}:{line}: bytes that are not UTF-8. Convert the file to UTF-8.") from None
    lines = (
        text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    )  # splitlines would also cut at marks inside a text
    if layout.delimiter == ",":
        reader = csv.reader((f"{line}\n" for line in lines), strict=True)
        try:
            for number, row in enumerate(reader):
                if row and not (layout.header and number == 0):
                    yield reader.line_num, row
        except csv.Error as error:
            raise FormatError(f"{path}:{reader.line_num}: not comma-separated values: {error}.") from None
        return
    seen = False
    for number, line in enumerate(lines, 1):
        if not line.strip() or (line.startswith("#") and layout.kind == "word similarity"):
            continue
        if seen or not layout.header:
            yield number, line
        seen = True


def _cells(row: str | list[str], layout: Layout) -> dict[str, str] | None:
    """Cells by column; None for a line that does not fit."""
    if layout is SECTIONS:
        words = str(row).split()
        return (
            dict(zip(("word1", "word2", "word3", "target"), words, strict=True)) if len(words) == 4 else None
        )
    if layout in (SPACED_PAIRS, SPACED_TEXTS):
        pairs = layout is SPACED_PAIRS
        found = spaced_pair(str(row)) if pairs else spaced_text(str(row))
        return found and dict(
            zip(("word1", "word2", "score") if pairs else ("label", "text"), found.groups(), strict=True)
        )
    cells = row.split("\t") if isinstance(row, str) else row
    if len(cells) <= max(layout.columns.values()):
        return None
    return {name: cells[place].strip() for name, place in layout.columns.items()}


# --- records into tasks
# -------------------------------------------------------------------------------------------------


def _made(path: Path, layout: Layout, records: list[Record]) -> Task | Labelled:
    if not records:
        raise SourceError(f"{path}: {layout.kind}, but it holds no item.")
    rows = [record.cells for record in records]
    name = path.stem
    language = _language(rows)
    if layout.kind in ("word similarity", "sentence similarity"):
        one, two = ("word1", "word2") if layout.kind == "word similarity" else ("sentence1", "sentence2")
        made = WordPairs if layout.kind == "word similarity" else SentencePairs
        return made(
            name,
            language,
            tuple((row[one], row[two]) for row in rows),
            tuple(float(row["score"]) for row in rows),
        )
    if layout.kind == "analogies":
        questions = tuple((row["word1"], row["word2"], row["word3"], row["target"]) for row in rows)
        return Analogies(name, language, questions, tuple(row.get("section", "") for row in rows))
    if layout.kind == "categorization":
        return Categories(
            name, language, tuple(row["word"] for row in rows), tuple(row["category"] for row in rows)
        )
    if layout.kind == "outliers":
        sets = [
            (*_words(path, record, "words"), outlier)
            for record in records
            for outlier in _words(path, record, "outliers")
        ]
        return Outliers(name, language, tuple(sets))
    coarse = [row["label"].partition(":")[0] for row in rows]  # TREC's labels are COARSE:fine
    return Labelled(path, tuple(zip(coarse, (row["text"] for row in rows), strict=True)))


def _words(path: Path, record: Record, column: str) -> list[str]:
    """Words of a cell: a list as Python writes it, or with blanks or commas between."""
    cell = record.cells[column]
    if not cell.startswith("["):
        return [word for word in re.split(r"[\s,;]+", cell) if word]
    try:
        return [str(word) for word in ast.literal_eval(cell) if word]
    except (ValueError, SyntaxError):
        raise FormatError(f"{path}:{record.line}: expected a list of words, found {cell[:60]!r}.") from None


def _classifications(labelled: Sequence[Labelled], report: Report) -> list[Task]:
    wholes: dict[Path, list[Labelled]] = {}
    for each in labelled:
        wholes.setdefault(each.whole if each.part else each.path, []).append(each)
    tasks: list[Task] = []
    for whole, parts in wholes.items():
        by_part = {each.part: each for each in parts}
        asked = next((by_part[part] for part in ROLES if part in by_part), None)
        name = whole.stem if not parts[0].part else whole.name
        if "train" in by_part and asked is not None:
            tasks.append(_texts(name, by_part["train"].items, asked.items, report))
            unused = [each.path.name for each in parts if each not in (asked, by_part["train"])]
            rest = f"; not used: {', '.join(unused)}" if unused else ""
            report(
                Note(
                    f"{name}: classification, fitted to {by_part['train'].path.name}, tested on {asked.path.name}{rest}."
                )
            )
            continue
        for each in parts:
            name = each.path.stem if len(parts) > 1 else name
            sides: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
            for item in each.items:
                sides[int.from_bytes(hashlib.sha256(item[1].encode()).digest()[:4]) % TESTED == 0].append(
                    item
                )
            tasks.append(_texts(name, tuple(sides[0]), tuple(sides[1]), report))
            report(
                Note(
                    f"{name}: classification; every fifth text of {each.path.name}, chosen by its hash, is for testing."
                )
            )
    return tasks


def _texts(
    name: str, train: tuple[tuple[str, str], ...], test: tuple[tuple[str, str], ...], report: Report
) -> Texts:
    seen = {"".join(text.split()) for _, text in train}
    clean = tuple(item for item in test if "".join(item[1].split()) not in seen)
    if len(clean) < len(test):
        report(
            Note(
                f"{name}: {len(test) - len(clean):,} of {len(test):,} texts for testing stand in the training part too; left out."
            )
        )
    return Texts(name, _language([{"text": text} for _, text in train]), train, clean)


def _language(rows: Sequence[dict[str, str]]) -> Language:
    """Chinese where most lines hold a Chinese character."""
    some = rows[:: max(1, len(rows) // 1000)]
    chinese = sum(1 for row in some if re.search(f"[{HAN}]", " ".join(row.values())))
    return "zh" if 2 * chinese > len(some) else "en"
