"""How well are English words translated into Chinese after alignment, and how does it grow with the text?

    INLAY_DATA=... python benchmarks/align_quality.py ppmi --dim 100 --shares 0.25 0.5 1

Both slices of Wikipedia, cut to the share asked for; learned from the MUSE dictionary of the 5,000 most frequent words, asked
for 1,500 others. The baseline is SciPy's orthogonal Procrustes on the vectors as they are, by cosine. Vectors are kept.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import time
from pathlib import Path

import inlay
from inlay.study.align import AT, Aligning, Between, Precision, _ids, align, precision
from inlay.study.dictionaries import read_dictionary
from inlay.vectors import Vectors

KEPT = Path(__file__).parent / "results" / "align"
SLICES = {"en": ("corpus_enwiki/enwiki_slice.txt.xz", 60_000_000), "zh": ("corpus_zhwiki/zhwiki_slice.txt.xz", 100_000_000)}
MIN_COUNT, ASKED = 10, 1500


def space(language: str, method: str, dim: int, share: float) -> Vectors:
    """Vectors of a share of the slice, trained once."""
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{language}-{method}-{dim}-{share:g}.inlay"
    if not path.exists():
        name, size = SLICES[language]
        with lzma.open(Path(os.environ["INLAY_DATA"]) / name) as file:
            raw = file.read(int(size * share)).rpartition(b"\n")[0] + b"\n"
        text = KEPT / f"{language}.txt"
        text.write_bytes(raw)
        vectors = inlay.train(text, method, dim=dim, min_count=MIN_COUNT, normalize=("nfc", "lower", "simplified"))
        inlay.save(vectors, path)
        text.unlink()
    return inlay.load(path)


def baseline(source: Vectors, target: Vectors, learned: list[tuple[str, str]], asked: list[tuple[str, str]]) -> list[Precision]:
    from scipy.linalg import orthogonal_procrustes

    known = sorted(set(_ids(source, target, learned)))
    ids = [list(side) for side in zip(*known, strict=True)]
    rotation = orthogonal_procrustes(source.table[ids[0]], target.table[ids[1]])[0]
    turned = Vectors(source.words, source.table @ rotation, source.counts, source.card)
    return precision(Between(turned, target), asked)[: len(AT)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method")
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.25, 0.5, 1.0])
    options = parser.parse_args()
    folder = Path(os.environ["INLAY_DATA"]) / "dict_en_zh"
    learned, rest = (read_dictionary(folder / f"muse_en-zh.{part}.txt") for part in ("0-5000", "6500-end"))
    chosen = set(random.Random(1).sample(sorted({word for word, _ in rest}), ASKED))
    asked = [pair for pair in rest if pair[0] in chosen]
    for share in options.shares:
        source, target = (space(language, options.method, options.dim, share) for language in ("en", "zh"))
        began = time.process_time()
        made = align(source, target, learned, Aligning(), test=asked)
        took = time.process_time() - began
        rows = [("scipy", each) for each in baseline(source, target, learned, asked)] + [("inlay", each) for each in made.precision]
        for who, each in rows:
            print(
                f"{share:5g} {who:6} {each.rotation or 'plain':11} {each.by:7} @{each.at:<3}"
                f"{each.value:.3f}  {each.low:.3f} to {each.high:.3f}  {each.used:,} of {each.total:,}"
            )
        figures = {"share": share, "method": options.method, "dim": options.dim, "cpu_seconds": took, "pairs": made.pairs}
        with (KEPT / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures | {"rows": [[who, *vars(each).values()] for who, each in rows]}) + "\n")
        print(f"      {made.pairs:,} pairs, refinement {made.refined}, {took:.0f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
