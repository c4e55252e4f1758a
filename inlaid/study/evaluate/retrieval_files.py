"""Files of retrieval -> a task: queries, documents and relevance, as BEIR has them or in a single file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inlaid.collect.charsets import decoded
from inlaid.errors import FormatError, SourceError
from inlaid.messages import Language
from inlaid.report import Report
from inlaid.study.evaluate.retrieval import Retrieval
from inlaid.untrusted import parse_json

QUERIES = ("queries.jsonl", "queries.tsv")
DOCUMENTS = ("corpus.jsonl", "corpus.tsv", "documents.jsonl", "documents.tsv")
RELEVANCE = ("qrels/test.tsv", "qrels/dev.tsv", "qrels.tsv", "relevance.tsv")
"""Names of the files, those of BEIR first."""


def is_retrieval(folder: Path) -> bool:
    """Whether a folder has the three files of a retrieval task."""
    return all(_first(folder, names) is not None for names in (QUERIES, DOCUMENTS, RELEVANCE))


def read_retrieval(folder: Path, charset: str, report: Report) -> Retrieval:
    """The task of a folder. Queries without a relevant document are left out, as in trec_eval."""
    paths = [folder / str(_first(folder, names)) for names in (QUERIES, DOCUMENTS, RELEVANCE)]
    queries, documents = (_texts(path, charset, report) for path in paths[:2])
    places = {id: place for place, id in enumerate(documents)}
    grades: dict[str, dict[int, float]] = {}
    for line, (query, document, grade) in _grades(paths[2], charset, report):
        if query not in queries or document not in places:
            missing = query if query not in queries else document
            raise FormatError(
                "{path}:{line}: there is no query or document with the id {id!r}. Fix the line or remove it.",
                path=paths[2],
                line=line,
                id=missing,
            )
        if grade > 0:
            grades.setdefault(query, {})[places[document]] = grade
    return retrieval_of(
        folder.name,
        paths[2],
        [(queries[id], found) for id, found in grades.items()],
        list(documents.values()),
    )


def retrieval_of_rows(path: Path, rows: Sequence[dict[str, str]]) -> Retrieval:
    """The task of a file whose lines have a query, a document and the relevance of one to the other; all
    documents of the file are searched."""
    places: dict[str, int] = {}
    grades: dict[str, dict[int, float]] = {}
    for row in rows:
        place = places.setdefault(row["document"], len(places))
        if float(row["relevance"]) > 0:
            grades.setdefault(row["query"], {})[place] = float(row["relevance"])
    return retrieval_of(path.stem, path, list(grades.items()), list(places))


def retrieval_of(
    name: str, path: Path, asked: Sequence[tuple[str, dict[int, float]]], documents: Sequence[str]
) -> Retrieval:
    if not asked:
        raise SourceError("{path}: retrieval, but no document is relevant to any query.", path=path)
    return Retrieval(
        name,
        _language([query for query, _ in asked]),
        queries=tuple(query for query, _ in asked),
        documents=tuple(documents),
        relevance=tuple(grades for _, grades in asked),
    )


def _first(folder: Path, names: Sequence[str]) -> str | None:
    return next((name for name in names if (folder / name).is_file()), None)


def _lines(path: Path, charset: str, report: Report) -> Iterator[tuple[int, str]]:
    text = decoded(path, path.read_bytes(), charset, report).removeprefix("\ufeff")
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if line.strip():
            yield number, line


def _texts(path: Path, charset: str, report: Report) -> dict[str, str]:
    """Texts by their ids: lines of JSON with _id, text and perhaps a title, or an id, a tab and a text."""
    found: dict[str, str] = {}
    for number, line in _lines(path, charset, report):
        item = _from_json(line) if path.suffix == ".jsonl" else _from_cells(line)
        if item is None or item[0] in found:
            raise FormatError(
                "{path}:{line}: expected an id that no other line has, and a text; found {found!r}. Fix the "
                "line or remove it.",
                path=path,
                line=number,
                found=line[:60],
            )
        found[item[0]] = item[1]
    return found


def _from_cells(line: str) -> tuple[str, str] | None:
    id, tab, text = line.partition("\t")
    return (id.strip(), text.strip()) if tab and text.strip() else None


def _from_json(line: str) -> tuple[str, str] | None:
    try:
        value: Any = parse_json(line)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    parts = [value.get("title") or "", value.get("text") or ""]
    text = " ".join(str(part) for part in parts if part).strip()
    id = value.get("_id", value.get("id"))
    return (str(id), text) if id is not None and text else None


def _grades(path: Path, charset: str, report: Report) -> Iterator[tuple[int, tuple[str, str, float]]]:
    """Ids of a query and a document, and the grade; the first line may be a header."""
    for number, line in _lines(path, charset, report):
        cells = [cell.strip() for cell in line.split("\t")]
        grade = _number(cells[2]) if len(cells) == 3 else None
        if grade is None and number == 1 and len(cells) == 3:
            continue
        if grade is None:
            raise FormatError(
                "{path}:{line}: expected the ids of a query and a document and a number, separated by tabs; "
                "found {found!r}. Fix the line or remove it.",
                path=path,
                line=number,
                found=line[:60],
            )
        yield number, (cells[0], cells[1], grade)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _language(texts: Sequence[str]) -> Language:
    """Chinese where most queries have a Chinese character."""
    chinese = sum(any("\u4e00" <= character <= "\u9fff" for character in text) for text in texts)
    return "zh" if 2 * chinese > len(texts) else "en"
