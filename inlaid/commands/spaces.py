"""Commands on two spaces: compare, align."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import Positional

from inlaid.commands.terminal import cell, drawn, print_json, print_neighbors, print_table, range_of

if TYPE_CHECKING:
    from inlaid.study.compare.compare import Change, Comparison

Output = Annotated[Path | None, tyro.conf.arg(aliases=["-o"])]
Number = Annotated[int, tyro.conf.arg(aliases=["-n"])]
SURE = 0.05
"""False alarms among the words said to have moved."""


def compare(
    first: Positional[Path],
    second: Positional[Path],
    words: tuple[str, ...] = (),
    seeds: tuple[Path, ...] = (),
    n: Number = 10,
    moved: int = 20,
    among: int = 100_000,
    json: bool = False,
) -> None:
    """What changed between two spaces: neighbors kept, words that moved, and whether chance alone would do
    it.

    Args:
        first: a file of vectors
        second: another; the words may differ, and the dimensions too
        words: show the neighbors that these words kept, lost and gained
        seeds: two or more other runs of the first: what differs between them is chance
        n: how many neighbors
        moved: show so many of the words that moved most
        among: only the first so many common words take part
        json: as JSON, for programs
    """
    from inlaid import pipeline
    from inlaid.study.compare.compare import Comparing, changes, compare

    with drawn() as report:
        spaces = [pipeline.load(path, report=report) for path in (first, second, *seeds)]
        found = compare(spaces[0], spaces[1], Comparing(n=n, among=among), seeds=spaces[2:], report=report)
        each_word = [changes(spaces[0], spaces[1], word, n=n, seeds=spaces[2:]) for word in words]
    if json:
        told = dataclasses.asdict(dataclasses.replace(found, moved=found.moved[:moved]))
        print_json(told | {"sure": _sure(found), "words": [dataclasses.asdict(each) for each in each_word]})
        return
    _print_comparison(found, n, moved)
    for change in each_word:
        _print_change(change)


def align(
    source: Positional[Path],
    target: Positional[Path],
    dictionary: Positional[Path],
    output: Output = None,
    test: Path | None = None,
    words: tuple[str, ...] = (),
    held_out: float = 0.2,
    refine: int = 5,
    json: bool = False,
) -> None:
    """Turn one space onto another with a dictionary; say how well words are translated, and save both as one
    space.

    Args:
        source: a file of vectors, such as Chinese
        target: another, such as English, with as many dimensions
        dictionary: a word and its translation on each line, or CC-CEDICT; either way round
        output: write both vocabularies in one space; a word of both gets, where it is rarer, the name of its file in front (zh:dna)
        test: a dictionary to measure on, of which words that the other has are left out
        words: translate these words of the source
        held_out: share of the dictionary kept for measuring, where there is no test
        refine: rounds of refinement
        json: as JSON, for programs
    """
    from inlaid import files, pipeline
    from inlaid.study.compare.align import Aligning, align

    if output:
        files.can_write(output)
    with drawn() as report:
        here, there = (pipeline.load(path, report=report) for path in (source, target))
        made = align(
            here, there, dictionary, Aligning(held_out=held_out, refine=refine), test=test, report=report
        )
        translated = made.translate(words) if words else []
        if output:
            pipeline.save(made.joint((source.stem, target.stem), report=report), output, report=report)
    if json:
        answers = {
            word: [dataclasses.asdict(each) for each in found]
            for word, found in zip(words, translated, strict=True)
        }
        scores = [dataclasses.asdict(each) for each in made.precision]
        print_json({"pairs": made.pairs, "refined": made.refined, "precision": scores, "words": answers})
        return
    print(
        f"learned from {made.pairs:,} pairs{f'; refinement found {made.refined[-1]:,}' if made.refined else ''}"
    )
    print_table(
        ("rotation", "by", "precision at", "share right", "95 %", "asked"),
        [
            (
                each.rotation,
                each.by,
                str(each.at),
                cell(each.value),
                range_of(each),
                f"{each.used:,} of {each.total:,}",
            )
            for each in made.precision
        ],
    )
    if words:
        print_neighbors(words, translated)
    if output:
        print(f"{output}: {len(here) + len(there):,} words x {there.dim}")


def _sure(found: Comparison) -> int | None:
    """How many words moved further than chance moves them, with few false alarms among these."""
    return None if found.chance is None else sum(each.p is not None and each.p < SURE for each in found.moved)


def _print_comparison(found: Comparison, n: int, moved: int) -> None:
    print(
        f"{found.common:,} words in common, {found.only_first:,} only in the first, {found.only_second:,} only in the second"
    )
    print(
        f"of {n} neighbors both give a word {cell(found.overlap.value)} (95 %: {range_of(found.overlap)}), on {found.compared:,} words"
    )
    if found.chance:
        print(f"between runs of the first: {cell(found.chance.value)} (95 %: {range_of(found.chance)})")
        print(f"{_sure(found):,} words moved further than chance moves them")
    rows = [
        (each.word, cell(each.distance), *(() if each.p is None else (f"{each.p:.2g}",)))
        for each in found.moved[:moved]
    ]
    print_table(("moved most", "distance", *(("p",) if found.chance else ())), rows)


def _print_change(change: Change) -> None:
    kinds: dict[str, tuple[Any, ...]] = {"kept": change.kept, "lost": change.lost, "gained": change.gained}
    stable = any(each.stable is not None for some in kinds.values() for each in some)
    rows = [
        (
            each.word,
            kind,
            str(each.first or "absent"),
            str(each.second or "absent"),
            *((f"{each.stable:.0%}",) if stable else ()),
        )
        for kind, some in kinds.items()
        for each in some
    ]
    print()
    print_table((change.word, "", "first", "second", *(("in runs",) if stable else ())), rows)
