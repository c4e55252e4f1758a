"""`inlaid map`: words on a plane, written as a picture or a page, and how far to trust it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inlaid.report import Report, silent
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.map.captions import caption
from inlaid.study.map.layout import Map, MapSettings, map_words
from inlaid.study.map.pictures import draw_map, writable
from inlaid.vectors import Vectors


@dataclass(frozen=True, eq=False)
class DrawnMap:
    """A map and the file it was written to."""

    map: Map
    file: Path

    def rows(self) -> list[Row]:
        first, *others = caption(self.map)
        return [f"{self.file}: {first}", *(f"  {line}" for line in others)]

    def to_dict(self) -> dict[str, Any]:
        made = self.map
        columns = zip(made.words, made.places.tolist(), made.true.tolist(), strict=True)
        return {
            "file": str(self.file),
            "chosen": made.chosen,
            "total": made.total,
            "settings": dataclasses.asdict(made.settings),
            "quality": plain(made.quality),
            "words": [
                {"word": word, "x": x, "y": y, "true": None if math.isnan(true) else true}
                for word, (x, y), true in columns
            ],
        }


@analysis
def map(
    vectors: Vectors,
    words: Sequence[str] = (),
    settings: MapSettings | None = None,
    *,
    output: Path,
    overwrite: bool = False,
    report: Report = silent,
) -> DrawnMap:
    """Draw words on a plane, as a picture (.png) or a page (.html), and say how far to trust it.

    Args:
        vectors: a file of vectors
        words: the words to draw; the first of the file when none is named
        output: what to write: a .png, or an .html that works without a network
    """
    path = writable(output, overwrite=overwrite)
    made = map_words(vectors, words, settings, report=report)
    draw_map(made, path, overwrite=overwrite, report=report)
    return DrawnMap(made, path)
