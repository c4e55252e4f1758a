"""Commands that look into a space: explain, fill, axis, dimensions, doctor."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import Positional

from inlaid.commands.terminal import drawn, print_json, print_rows
from inlaid.errors import SettingError

Number = Annotated[int, tyro.conf.arg(aliases=["-n"])]


def explain(
    vectors: Positional[Path],
    first: Positional[str],
    second: Positional[str],
    corpus: Path | None = None,
    n: Number = 10,
    sentences: int = 3,
    window: int | None = None,
    json: bool = False,
) -> None:
    """Why two words are near: shared contexts, sentences, dimensions, n-grams.

    Args:
        vectors: a file of vectors
        first: a word
        second: another
        corpus: the folder of the corpus they were learned from; without it there are no contexts and no sentences
        n: how many contexts, dimensions and n-grams to show
        sentences: how many sentences to show, of each kind
        window: words on each side that count as contexts; as in training when not given
        json: as JSON, for programs
    """
    from inlaid import pipeline
    from inlaid.encode.corpus import open_corpus
    from inlaid.study.explain.explain import Explaining, explain

    settings = Explaining(n=n, sentences=sentences, window=window)
    with drawn() as report:
        space = pipeline.load(vectors)
        text = open_corpus(corpus) if corpus else None
        found = explain(space, first, second, corpus=text, settings=settings, report=report)
    if json:
        print_json(dataclasses.replace(found, parts=found.parts[:n]))
        return
    print_rows([f"{first} ~ {second}: cosine {found.cosine:.3f}"])
    if found.text:
        _print_text(found.text, first, second)
    print_rows([f"\ndimensions (half of it all in {found.half} of {len(found.dimensions)})"])
    print_rows([(f"  {each.share:+.3f}", str(each.dimension)) for each in found.dimensions[:n]])
    if found.parts:
        print_rows(["\nn-grams"])
        print_rows([(f"  {each.share:+.3f}", each.first, each.second) for each in found.parts[:n]])


def _print_text(text: Any, first: str, second: str) -> None:
    print_rows(
        [
            f"in the text: {first} {text.first_count:,} times, {second} {text.second_count:,} times; in one sentence {text.together:,} times",
            f"\ncontexts both share: {text.shared:,}, their weights sum to {text.cosine:.3f}",
        ]
    )
    head = ("  weight", "context", f"pmi {first}", f"pmi {second}", f"near {first}", f"near {second}")
    print_rows(
        [
            head,
            *(
                (
                    f"  {c.weight:.3f}",
                    c.word,
                    f"{c.first_pmi:.2f}",
                    f"{c.second_pmi:.2f}",
                    f"{c.first_count:,.0f}",
                    f"{c.second_count:,.0f}",
                )
                for c in text.contexts
            ),
        ]
    )
    titles = {
        "sentences of both": text.meetings,
        f"sentences of {first}": text.of_first,
        f"sentences of {second}": text.of_second,
    }
    for title, some in titles.items():
        if some:
            print_rows([f"\n{title}", *(f"  {each.text}" for each in some)])


def fill(
    vectors: Positional[Path],
    text: Positional[str],
    n: Number = 10,
    dictionary: Path | None = None,
    prior: bool = True,
    include: bool = False,
    json: bool = False,
) -> None:
    """Words for a blank: "这是一个___的苹果".

    Args:
        vectors: a file of vectors of a method with two tables, such as sgns
        text: a sentence with a blank, written ___
        n: how many words
        dictionary: Chinese words that are always one token, one a line; as in training when not given
        prior: how frequent a word is counts too; without it, only how well it fits
        include: let words of the text be answers
        json: as JSON, for programs
    """
    from inlaid import pipeline
    from inlaid.encode.tokenizers import read_dictionary
    from inlaid.study.explain.fill import fill

    words = read_dictionary(dictionary) if dictionary else ()
    found = fill(pipeline.load(vectors), text, n=n, dictionary=words, prior=prior, include=include)
    if json:
        print_json(found)
        return
    print_rows([(f"{each.score:+.3f}", each.word) for each in found.words])
    if found.unknown:
        print_rows([f"without a vector: {' '.join(found.unknown)}"])


def axis(
    vectors: Positional[Path],
    start: Annotated[tuple[str, ...], tyro.conf.arg(name="from")],
    end: Annotated[tuple[str, ...], tyro.conf.arg(name="to")],
    words: tuple[str, ...] = (),
    paired: bool = False,
    draws: int = 1000,
    seed: int = 1,
    json: bool = False,
) -> None:
    """Where words lie between two lists of words.

    Args:
        vectors: a file of vectors
        start: words at one end
        end: words at the other end
        words: words to place between them
        paired: the lists are pairs, word by word
        draws: resamples for the bands, shufflings for the test
        seed: draws them
        json: as JSON, for programs
    """
    from inlaid import pipeline
    from inlaid.study.explain.axis import Settings, axis

    found = axis(
        pipeline.load(vectors),
        start,
        end,
        words=words,
        settings=Settings(paired=paired, draws=draws, seed=seed),
    )
    if json:
        print_json(found)
        return
    rows = [
        (
            f"{each.value:+.3f}",
            _band(each.low, each.high, "+.3f"),
            each.word,
            each.member and f"({each.member})",
        )
        for each in found.words
    ]
    print_rows([("place", "95 %", "word", ""), *rows])
    if found.p != found.p:
        print_rows(["\nOne word on a side cannot be left out: whether the lists are apart was not tested."])
        return
    print_rows(
        [
            f"\nleft out one at a time, {found.accuracy:.0%} of the lists are on their side; labels shuffled do as well with p = {found.p:.3g} "
            f"(so few words could reach {found.smallest_p:.2g})"
        ]
    )


def dimensions(
    vectors: Positional[Path],
    tasks: Positional[tuple[str, ...]] = (),
    n: Number = 10,
    steps: int = 10,
    runs: int = 5,
    top: int = 50_000,
    seed: int = 1,
    json: bool = False,
) -> None:
    """What dimensions hold: scores as they are removed, and what single ones go with.

    Args:
        vectors: a file of vectors
        tasks: names of tasks or task files; those of the embedded world when none is given
        n: how many correlations to show
        steps: points of the curve; as many as dimensions to remove them one by one
        runs: random orders
        top: of a larger space only the first so many words are scored, and are answers
        seed: draws them
        json: as JSON, for programs
    """
    from inlaid import pipeline
    from inlaid.study.explain.dimensions import TASKS, Removing, dimensions

    settings = Removing(steps=steps, runs=runs, top=top, seed=seed)
    with drawn() as report:
        found = dimensions(pipeline.load(vectors), tasks or TASKS, settings=settings, report=report)
    if json:
        print_json(dataclasses.replace(found, traits=found.traits[:n]))
        return
    rows = [
        (
            f"{each.task} {each.language}",
            each.metric,
            each.order,
            str(each.left),
            f"{each.value:.3f}",
            _band(each.low, each.high, ".3f"),
        )
        for each in found.removal
    ]
    print_rows([("task", "metric", "removed first", "left", "score", "95 %"), *rows])
    traits = [
        (f"{each.correlation:+.3f}", f"{each.p:.2g}", str(each.dimension), each.trait)
        for each in found.traits[:n]
    ]
    print_rows(["", ("correlation", "p", "dimension", "goes with"), *traits])


def doctor(
    vectors: Positional[Path],
    corpus: Path | None = None,
    sample: int = 20_000,
    seed: int = 1,
    show: Literal["all", "warnings", "serious"] = "all",
    json: bool = False,
) -> None:
    """What is wrong with a space, and what to do about it.

    Args:
        vectors: a file of vectors
        corpus: the folder of a corpus whose frequent words should have vectors
        sample: words looked at where all would take too long
        seed: draws the sample
        show: which findings to show
        json: as JSON, for programs
    """
    from inlaid import pipeline
    from inlaid.encode.corpus import open_corpus
    from inlaid.study.doctor.doctor import Examining, doctor

    if sample < 2:
        raise SettingError(f"sample is {sample}; expected at least 2.")
    with drawn() as report:
        text = open_corpus(corpus) if corpus else None
        found = doctor(
            pipeline.load(vectors), corpus=text, settings=Examining(sample=sample, seed=seed), report=report
        )
    shown = {
        "all": ("serious", "warning", "note"),
        "warnings": ("serious", "warning"),
        "serious": ("serious",),
    }[show]
    findings = tuple(each for each in found.findings if each.severity in shown)
    if json:
        print_json(
            dataclasses.asdict(dataclasses.replace(found, findings=findings)) | {"verdict": found.verdict}
        )
        return
    print_rows([f"{vectors}: {found.words:,} words x {found.dim}. {found.verdict}"])
    for each in findings:
        such = f" Such as: {'; '.join(each.examples)}." if each.examples else ""
        print_rows([f"\n{each.severity}: {each.sentence}{such}", f"  {each.advice}"])


def _band(low: float, high: float, form: str) -> str:
    return f"{low:{form}} to {high:{form}}" if low == low else "none"
