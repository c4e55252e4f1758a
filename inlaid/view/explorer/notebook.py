"""`vectors.explore()`: the explorer in a notebook, as one page that works when the kernel is gone."""

from __future__ import annotations

from html import escape

from inlaid.progress import listening
from inlaid.report import Report, automatic
from inlaid.vectors import Vectors
from inlaid.view.explorer.export import export
from inlaid.view.explorer.state import Explorer, Shown
from inlaid.view.spaces import Spaces


class Page:
    """A page of the explorer; a notebook shows it."""

    def __init__(self, html: str, height: int) -> None:
        self.html = html
        self.height = height

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts allow-downloads" width="100%" '
            f'height="{self.height}" style="border:1px solid #8884;border-radius:8px"></iframe>'
        )


def explore(
    vectors: Vectors,
    *,
    top: int = 2_000,
    name: str = "vectors",
    height: int = 640,
    report: Report = automatic,
) -> Page:
    """The first words as a map that can be searched, for a notebook; `inlaid explore` shows everything.

    >>> vectors.explore()
    """
    with listening(report) as heard:
        explorer = Explorer(Spaces.of({name: vectors}), Shown(most=top, neighborhoods=top))
        return Page(export(explorer, report=heard), height)
