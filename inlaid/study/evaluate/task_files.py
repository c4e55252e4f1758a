"""Files and folders of tasks -> tasks; the kind is recognized by the content."""

from __future__ import annotations

import ast
import csv
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from inlaid.collect.charset_detection import UTF8, codec_of
from inlaid.collect.charsets import decide, decoded
from inlaid.encode.chinese import HAN
from inlaid.errors import FormatError, SourceError
from inlaid.messages import Language, Listed, Message
from inlaid.report import Note, Report, silent
from inlaid.study.evaluate.retrieval_files import is_retrieval, read_retrieval, retrieval_of_rows
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
"""Bytes read to recognize the kind of a file."""
TESTED = 5
"""Every n-th text is for testing, where a file has no train and test parts."""
PART = re.compile(r"(?:^|[._-])(train|test|dev|valid|val)(?=[._-]|$)", re.IGNORECASE)
ROLES = ("test", "dev", "valid", "val")
"""Parts to test on, in order of preference."""
SHOWN = 8
"""Files named in a note."""


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
    def dataset(self) -> Path:
        """The dataset the file is a part of: its name without the part, or its folder where no name is
        left."""
        rest = PART.sub("", re.sub(r"\.(?:txt|tsv|csv)$", "", self.path.name), count=1).strip("._-")
        return self.path.resolve().parent / rest


def read_tasks(paths: Sequence[str | Path], report: Report = silent, *, charset: str = UTF8) -> list[Task]:
    """The tasks of files and folders. Of a folder all recognized files are read; a note names the others.

    `train` and `test` (or `dev`) files of one name are one classification task. A file without such parts is
    split by the hash of its texts, so that the same text is never on both sides.
    """
    found: list[Task] = []
    labelled: list[Labelled] = []
    for path in map(Path, paths):
        read = _read_folder if path.is_dir() else _read_one
        for held in read(path, charset, report):
            if isinstance(held, Labelled):
                labelled.append(held)
            else:
                found.append(held)
                report(
                    Note(
                        "{name}: read as {kind}, {language}.",
                        name=held.name,
                        kind=held.kind,
                        language=held.language,
                    )
                )
    return found + _classifications(labelled, report)


def read_file(path: Path, charset: str = UTF8, report: Report = silent) -> Task | Labelled:
    """What one file holds; SourceError if no task is recognized, FormatError for a line that does not fit."""
    if not path.is_file():
        raise SourceError("There is no file or folder '{path}'.", path=path)
    layout = _layout(path, charset)
    if layout is None:
        raise SourceError(
            "{path}: no task is recognized. Expected pairs of words or sentences with a score, analogies, "
            "words with categories, texts with labels, or queries with documents; `docs/evaluate.md` shows "
            "each.",
            path=path,
        )
    return _made(path, layout, list(_records(path, layout, charset, report)))


def _read_one(path: Path, charset: str, report: Report) -> Iterator[Task | Labelled]:
    yield read_file(path, charset, report)


def _read_folder(folder: Path, charset: str, report: Report) -> Iterator[Task | Labelled]:
    if is_retrieval(folder):
        yield read_retrieval(folder, charset, report)
        return
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    layouts = {path: _layout(path, charset) for path in paths}
    left = [str(path.relative_to(folder)) for path in paths if layouts[path] is None]
    if len(left) == len(paths):
        raise SourceError(
            "{folder}: no task is recognized in any of its {count:,} files.", folder=folder, count=len(paths)
        )
    if left:
        more = Message(" and {count:,} more", count=len(left) - SHOWN) if len(left) > SHOWN else Message("")
        report(
            Note(
                "{folder}: skipped, as no task is recognized in them: {files}{more}.",
                folder=folder,
                files=Listed(left[:SHOWN]),
                more=more,
            )
        )
    for path, layout in layouts.items():
        if layout is not None:
            yield _made(path, layout, list(_records(path, layout, charset, report)))


def _layout(path: Path, charset: str) -> Layout | None:
    with path.open("rb") as file:
        head = file.read(HEAD)
    text = head.decode(codec_of(decide(head, charset)), "replace")
    if "\0" in text:
        return None
    lines = text.removeprefix("\ufeff").splitlines()
    return recognize(lines[:-1] if len(head) == HEAD else lines)


# --- lines into records


def _records(path: Path, layout: Layout, charset: str, report: Report) -> Iterator[Record]:
    """Each line split as the layout says; FormatError names the first line that does not fit."""
    section = ""
    for line, row in _rows(path, layout, decoded(path, path.read_bytes(), charset, report)):
        text = row if isinstance(row, str) else ""
        if layout is SECTIONS and text.startswith(":"):
            section = text[1:].strip()
            continue
        cells = _cells(row, layout)
        if cells is None or not fits(cells, layout):
            shown = text or (layout.delimiter or "").join(row)
            raise FormatError(
                "{path}:{line}: expected {expected}, found {found!r}. Fix the line or remove it.",
                path=path,
                line=line,
                expected=layout.expected,
                found=shown[:60],
            )
        yield Record(line, cells | ({"section": section} if layout is SECTIONS else {}))


def _rows(path: Path, layout: Layout, text: str) -> Iterator[tuple[int, str | list[str]]]:
    """Non-empty lines with their numbers; comma-separated ones as lists of cells."""
    # Not splitlines, which also splits at Unicode separators inside a text.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if layout.delimiter == ",":
        reader = csv.reader((f"{line}\n" for line in lines), strict=True)
        try:
            for number, row in enumerate(reader):
                if row and not (layout.header and number == 0):
                    yield reader.line_num, row
        except csv.Error as error:
            raise FormatError(
                "{path}:{line}: not comma-separated values: {reason}.",
                path=path,
                line=reader.line_num,
                reason=str(error),
            ) from None
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
        names = ("word1", "word2", "word3", "target")
        return dict(zip(names, words, strict=True)) if len(words) == 4 else None
    if layout is SPACED_PAIRS:
        found = spaced_pair(str(row))
        return found and dict(zip(("word1", "word2", "score"), found.groups(), strict=True))
    if layout is SPACED_TEXTS:
        found = spaced_text(str(row))
        return found and dict(zip(("label", "text"), found.groups(), strict=True))
    cells = row.split("\t") if isinstance(row, str) else row
    if len(cells) <= max(layout.columns.values()):
        return None
    return {name: cells[place].strip() for name, place in layout.columns.items()}


# --- records into tasks


def _made(path: Path, layout: Layout, records: list[Record]) -> Task | Labelled:
    if not records:
        raise SourceError("{path}: {kind}, but there are no items.", path=path, kind=layout.kind)
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
    if layout.kind == "retrieval":
        return retrieval_of_rows(path, rows)
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
    """Words of a cell: a Python list, or words separated by spaces, commas or semicolons."""
    cell = record.cells[column]
    if not cell.startswith("["):
        return [word for word in re.split(r"[\s,;]+", cell) if word]
    try:
        return [str(word) for word in ast.literal_eval(cell) if word]
    except (ValueError, SyntaxError):
        raise FormatError(
            "{path}:{line}: expected a list of words, found {found!r}.",
            path=path,
            line=record.line,
            found=cell[:60],
        ) from None


def _classifications(labelled: Sequence[Labelled], report: Report) -> list[Task]:
    datasets: dict[Path, list[Labelled]] = {}
    for each in labelled:
        datasets.setdefault(each.dataset if each.part else each.path, []).append(each)
    tasks: list[Task] = []
    for dataset, parts in datasets.items():
        by_part = {each.part: each for each in parts}
        test = next((by_part[part] for part in ROLES if part in by_part), None)
        name = dataset.name if parts[0].part else dataset.stem
        if "train" in by_part and test is not None:
            tasks.append(_from_parts(name, by_part["train"], test, parts, report))
        elif len(parts) == 1:
            tasks.append(_from_split(name, parts[0], report))
        else:
            tasks += [_from_split(each.path.stem, each, report) for each in parts]
    return tasks


def _from_parts(
    name: str, train: Labelled, test: Labelled, parts: Sequence[Labelled], report: Report
) -> Task:
    """A task whose files say which texts are for training and which for testing."""
    unused = [each.path.name for each in parts if each not in (test, train)]
    rest = Message("; not used: {files}", files=Listed(unused)) if unused else Message("")
    made = _texts(name, train.items, test.items, report)
    report(
        Note(
            "{name}: classification, fitted to {train}, tested on {test}{rest}.",
            name=name,
            train=train.path.name,
            test=test.path.name,
            rest=rest,
        )
    )
    return made


def _from_split(name: str, whole: Labelled, report: Report) -> Task:
    """A task whose one file is split by the hash of each text."""
    train: list[tuple[str, str]] = []
    test: list[tuple[str, str]] = []
    for item in whole.items:
        hashed = int.from_bytes(hashlib.sha256(item[1].encode()).digest()[:4])
        (test if hashed % TESTED == 0 else train).append(item)
    made = _texts(name, tuple(train), tuple(test), report)
    report(
        Note(
            "{name}: classification; one text in {tested} of {file}, chosen by its hash, is for testing.",
            name=name,
            tested=TESTED,
            file=whole.path.name,
        )
    )
    return made


def _texts(
    name: str, train: tuple[tuple[str, str], ...], test: tuple[tuple[str, str], ...], report: Report
) -> Texts:
    seen = {"".join(text.split()) for _, text in train}
    clean = tuple(item for item in test if "".join(item[1].split()) not in seen)
    if len(clean) < len(test):
        report(
            Note(
                "{name}: {count:,} of {total:,} test texts are in the training part too; left out.",
                name=name,
                count=len(test) - len(clean),
                total=len(test),
            )
        )
    return Texts(name, _language([{"text": text} for _, text in train]), train, clean)


def _language(rows: Sequence[dict[str, str]]) -> Language:
    """Chinese where most lines contain a Chinese character."""
    some = rows[:: max(1, len(rows) // 1000)]
    chinese = sum(1 for row in some if re.search(f"[{HAN}]", " ".join(row.values())))
    return "zh" if 2 * chinese > len(some) else "en"
