"""`inlaid map`: words on a plane, as a picture or a page, and how far to trust it."""

from __future__ import annotations

import dataclasses
import json as json_module
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from tyro.conf import Positional

from inlaid.commands.terminal import drawn

if TYPE_CHECKING:
    from inlaid.study.map.layout import Map


def map_command(
    vectors: Positional[Path],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    words: Positional[tuple[str, ...]] = (),
    method: Literal["pca", "tsne", "umap"] = "tsne",
    top: int = 2_000,
    sample: bool = False,
    perplexity: float = 30.0,
    neighbors: int = 15,
    seed: int = 1,
    workers: int = 1,
    json: bool = False,
) -> None:
    """Draw words on a plane, as a picture (.png) or a page (.html), and say how far to trust it.

    Args:
        vectors: a file of vectors
        output: what to write: a .png, or an .html that works without a network
        words: the words to draw; the first of the file when none is named
        method: pca, tsne (needs the extra `explore`) or umap (the extra `umap`)
        top: how many words are drawn when none is named
        sample: draw them from all words at random, by the seed, instead of the first
        perplexity: t-SNE: with about how many neighbours a word is held together
        neighbors: UMAP: the same
        seed: the same seed, the same map
        workers: t-SNE: threads; the same map for the same seed is only promised for one
        json: print figures and places as JSON, for programs
    """
    from inlaid import pipeline
    from inlaid.study.map.layout import map_words
    from inlaid.study.map.pictures import caption, draw_map, writable

    writable(output)
    settings: dict[str, Any] = {
        "method": method,
        "top": top,
        "sample": sample,
        "perplexity": perplexity,
        "neighbors": neighbors,
        "seed": seed,
        "workers": workers,
    }
    with drawn() as report:
        made = map_words(pipeline.load(vectors), words, report=report, **settings)
        draw_map(made, output, report=report)
    if json:
        print(json_module.dumps(_values(made, output), indent=2, ensure_ascii=False))
        return
    first, *rest = caption(made, "en")
    print("\n".join([f"{output}: {first}", *(f"  {line}" for line in rest)]))


def _values(made: Map, output: Path) -> dict[str, Any]:
    rows = zip(made.words, made.places.tolist(), made.true.tolist(), strict=True)
    return {
        "file": str(output),
        "chosen": made.chosen,
        "total": made.total,
        "layout": dataclasses.asdict(made.layout),
        "faithfulness": dataclasses.asdict(made.faithfulness) if made.faithfulness else None,
        "words": [
            {"word": word, "x": x, "y": y, "true": None if math.isnan(true) else true}
            for word, (x, y), true in rows
        ],
    }
