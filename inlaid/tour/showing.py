"""Showing: `show` prints a result, or hands it to whoever renders the tour; code blocks are run in order."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.cells import cell_len

from inlaid.errors import MissingExtra
from inlaid.messages import Language, spoken_language
from inlaid.tour.content import Code, said
from inlaid.tour.models import TOLD, Models

Row = str | tuple[str, ...]


@dataclass(frozen=True)
class Output:
    """What a code block showed: rows of text and tables, and what it printed."""

    rows: tuple[Row, ...]


@dataclass
class _Screen:
    """Where `show` writes while a block runs."""

    language: Language
    rows: list[Row]


SCREEN: ContextVar[_Screen | None] = ContextVar("screen", default=None)


def show(*values: Any) -> None:
    """Show results, tables and arrays so that a reader can read them, in the language of the tour."""
    screen = SCREEN.get()
    language = screen.language if screen is not None else spoken_language()
    rows = [row for value in values for row in _rows(value, language)]
    if screen is not None:
        between = [""] if screen.rows and (len(rows) > 1 or not isinstance(screen.rows[-1], str)) else []
        screen.rows += [*between, *rows]
        return
    print("\n".join(lines_of(rows)))


def _rows(value: Any, language: Language) -> Iterator[Row]:
    if hasattr(value, "rows"):
        for row in value.rows():
            yield (
                tuple(said(cell, language) for cell in row) if isinstance(row, tuple) else said(row, language)
            )
        return
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if isinstance(value, np.ndarray):
        yield from _array(value)
        return
    yield said(value, language)


def _array(array: np.ndarray) -> Iterator[Row]:
    """A matrix as rows of numbers, a vector as one row."""
    for row in np.atleast_2d(array):
        yield tuple(f"{each:.4f}" if isinstance(each, float) else str(each) for each in row.tolist())


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """Rows as lines of text; each run of tuples is a table, aligned by the width of its characters."""
    for is_table, run in itertools.groupby(rows, key=lambda row: not isinstance(row, str)):
        held: Any = list(run)
        if not is_table:
            yield from held
            continue
        widths = [max(map(cell_len, column)) for column in itertools.zip_longest(*held, fillvalue="")]
        for row in held:
            cells = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False)]
            yield "  ".join(cells).rstrip()


class Runner:
    """Runs the code blocks of a tour in order, as one program.

    What the first chapters import is there from the start, so that a later chapter can be run by itself.
    """

    def __init__(self, models: Models) -> None:
        import inlaid
        from inlaid import tour
        from inlaid.tour import claims

        self.models = models
        self.names: dict[str, Any] = {
            "inlaid": inlaid,
            "tour": tour,
            "claims": claims,
            "models": models,
            "show": show,
            "np": np,
        }

    def run(self, block: Code) -> Output:
        """What the block shows. Where an optional dependency is missing, what to install."""
        screen = _Screen(self.models.language, [])
        tokens = (SCREEN.set(screen), TOLD.set(self.models))
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(block.code, "<tour>", "exec"), self.names)
        except MissingExtra as error:
            screen.rows.append(said(error, screen.language))
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            screen.rows.append(said(_without_torch(), screen.language))
        finally:
            SCREEN.reset(tokens[0])
            TOLD.reset(tokens[1])
        return Output((*screen.rows, *printed.getvalue().splitlines()))


def _without_torch() -> MissingExtra:
    return MissingExtra(
        "{module} is not installed: run `pip install 'inlaid[{extra}]'`", module="torch", extra="neural"
    )
