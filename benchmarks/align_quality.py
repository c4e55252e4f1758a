"""How well are English words translated into Chinese after alignment, and how does it grow with the text?

    INLAID_DATA=... python benchmarks/align_quality.py [--method sgns] [--dim 100] [--shares 0.125 0.25 0.5 1]

Both slices of Wikipedia, those of `quality.py`, or the first share of their lines; every method at its
defaults. Trained on four fifths of the MUSE dictionary of the 5,000 most frequent words, tested on the last
fifth, on which no setting was chosen. The baseline is SciPy's orthogonal Procrustes on the vectors as they
are, by cosine. Vectors are cached.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from quality import text

import inlaid
from inlaid.study.compare.align import AlignSettings, align
from inlaid.study.compare.bilingual import AT, Precision, Retrieval, precision
from inlaid.study.compare.dictionaries import Pairs, read_dictionary, split, training_ids
from inlaid.vectors import Vectors

KEPT = Path(__file__).parent / "results" / "align"


def space(language: str, method: str, dim: int, share: float) -> Vectors:
    """Vectors of a share of the slice, trained once."""
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{language}-{method}-{dim}-{share:g}.inlaid"
    if not path.exists():
        corpus, lines = text(language)
        if share < 1:
            part = KEPT / f"{language}.txt"
            with lines.open("rb") as file:
                part.write_bytes(file.read(int(lines.stat().st_size * share)).rpartition(b"\n")[0] + b"\n")
            corpus = inlaid.corpus(
                part, tokenizer="whitespace", normalize=corpus.manifest["encoding"]["normalize"]
            )
            part.unlink()
        inlaid.save(inlaid.train(corpus, method, dim=dim), path)
    return inlaid.load(path)


def baseline(source: Vectors, target: Vectors, training: Pairs, test: Pairs) -> list[Precision]:
    from scipy.linalg import orthogonal_procrustes

    known = training_ids(source, target, training, test)
    rotation = orthogonal_procrustes(source.table[known[:, 0]], target.table[known[:, 1]])[0]
    mapped = Vectors(source.words, source.table @ rotation, source.counts, source.card)
    return precision(Retrieval(mapped, target), test)[: len(AT)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="sgns")
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.125, 0.25, 0.5, 1.0])
    options = parser.parse_args()
    dictionary = read_dictionary(Path(os.environ["INLAID_DATA"]) / "dict_en_zh" / "muse_en-zh.0-5000.txt")
    settings = AlignSettings()
    training, test = split(dictionary, None, settings.held_out, settings.seed)
    print(
        "| share of the text | tested | pairs | by | "
        + " | ".join(f"at {k}" for k in AT)
        + " |\n|"
        + " --- |" * (4 + len(AT))
    )
    for share in options.shares:
        source, target = (space(language, options.method, options.dim, share) for language in ("en", "zh"))
        began = time.process_time()
        made = align(source, target, dictionary)
        took = time.process_time() - began
        rows = {"SciPy, plain, cosine": baseline(source, target, training, test)}
        for each in made.precision:
            rows.setdefault(f"{each.mapping}, {each.by}", []).append(each)
        for name, scores in rows.items():
            cells = " | ".join(f"{each.value:.3f} ({each.low:.3f} to {each.high:.3f})" for each in scores)
            tested = f"{scores[0].used:,} of {scores[0].total:,}"
            print(f"| {share:g} | {tested} | {made.pairs:,} | {name} | {cells} |", flush=True)
        result = {
            "share": share,
            "method": options.method,
            "dim": options.dim,
            "cpu_seconds": took,
            "pairs": made.pairs,
            "refinement": made.refinement,
        }
        with (KEPT / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(
                json.dumps(
                    result | {"rows": {name: [vars(each) for each in some] for name, some in rows.items()}}
                )
                + "\n"
            )


if __name__ == "__main__":
    main()
