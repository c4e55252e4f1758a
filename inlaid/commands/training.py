"""Commands that learn: train, demo."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from inlaid import registry
from inlaid.commands.options import config_values, reading_options, text_of, values_of_group
from inlaid.commands.terminal import drawn, listed, parse, print_rows
from inlaid.errors import Diverged


def train(words: list[str]) -> None:
    """Learn vectors from text with a method."""
    if not words or words[0] in ("-h", "--help"):
        print("usage: inlaid train METHOD TEXT... -o FILE [settings]\n\nmethods:")
        print(listed({entry.name: entry.summary for entry in registry.entries("method")}))
        print("\n`inlaid train METHOD --help` lists the settings of one method.")
        return
    name = words[0]
    words = words[1:]
    kind = registry.find("method", name)

    from inlaid import files, pipeline
    from inlaid.config import settings_of
    from inlaid.encode.corpus import Encoding
    from inlaid.jobs.training import Long
    from inlaid.jobs.work import Safety

    of_method, of_encoding = pipeline.split_settings(config_values(words), kind)
    groups: dict[str, object] = {
        "settings": settings_of(kind, of_method),
        "encoding": settings_of(Encoding, of_encoding),
    }
    if isinstance(groups["settings"], Long):
        groups["safety"] = Safety()
        groups["going_on"] = GoingOn()
    options = parse(reading_options(**groups), words, f"inlaid train {name}", kind.__doc__)
    files.can_write(options.output)
    values = values_of_group(options.settings) | (
        values_of_group(options.encoding) if options.encoding != Encoding() else {}
    )
    safety = _kept_beside(options.output, options.safety) if "safety" in groups else None
    with drawn() as report:
        going_on = _going_on(options.going_on) if "going_on" in groups else {}
        try:
            vectors = pipeline.train(
                text_of(options), name, safety=safety, report=report, **going_on, **values
            )
        except Diverged as error:
            if error.vectors is not None:
                pipeline.save(error.vectors, options.output)
                error.sentence = f"{error} The last good vectors are in {options.output}."
            raise
        pipeline.save(vectors, options.output)
    print(f"{options.output}: {len(vectors):,} words x {vectors.dim}, by {name}")
    if safety is not None and safety.checkpoint is not None:
        _tidy(safety.checkpoint, vectors.card.notes)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GoingOn:
    """Going on from vectors made before, with new text."""

    onto: Path | None = None
    """Vectors to go on from; new words come behind theirs."""
    anchor: bool = False
    """The words of --onto keep their vectors to the last bit."""


def _going_on(asked: GoingOn) -> dict[str, Any]:
    from inlaid import pipeline

    return {"onto": None if asked.onto is None else pipeline.load(asked.onto), "anchor": asked.anchor}


def _kept_beside(output: Path, safety: Any) -> Any:
    """Checkpoints go beside the vectors unless they have a place of their own."""
    kept = safety.checkpoint or output.with_name(f"{output.name}.checkpoint")
    return dataclasses.replace(safety, checkpoint=kept)


def _tidy(checkpoint: Path, notes: tuple[str, ...]) -> None:
    """A checkpoint of a finished run is of no more use; one of an interrupted run is what --resume goes on
    from."""
    if not any(note.startswith(("Training was interrupted", "Training stopped")) for note in notes):
        checkpoint.unlink(missing_ok=True)
    elif any(note.startswith("Training was interrupted") for note in notes):
        print(f"Go on later with the same command and --resume; the checkpoint is {checkpoint}.")
        raise KeyboardInterrupt


def demo(words: int = 300_000, seed: int = 1) -> None:
    """Train on the embedded world and show what was found, in both languages.

    Args:
        words: how many words of text to write, in each language
        seed: another seed, another text
    """
    from inlaid import pipeline
    from inlaid.study.evaluate.evaluate import evaluate
    from inlaid.study.evaluate.scores import Scores
    from inlaid.study.search.analogy import analogy
    from inlaid.study.search.neighbors import neighbors

    with drawn() as report:
        spaces = pipeline.demo(words=words, seed=seed, report=report)
    for language, vectors in spaces.items():
        shown = SHOWN[language]
        print(f"\n{shown.title}: {len(vectors):,} x {vectors.dim}, {vectors.card.method}")
        for word in shown.words:
            print(
                f"  {word} ~ {'  '.join(f'{each.word} {each.score:.2f}' for each in neighbors(vectors, word, n=5))}"
            )
        for formula in shown.formulas:
            print(f"  {formula} = {analogy(vectors, formula, n=1)[0].word}")
    print()
    scores = [
        score
        for vectors in spaces.values()
        for score in evaluate(vectors, ("world-fields", "world-analogies"))
    ]
    print_rows(Scores(tuple(dataclasses.replace(score, others=()) for score in scores)).rows())


@dataclasses.dataclass(frozen=True)
class Shown:
    """What the demo shows of one language."""

    title: str
    words: tuple[str, ...]
    formulas: tuple[str, ...]


SHOWN = {
    "zh": Shown("中文", ("香蕉", "北京", "医生", "高兴"), ("国王 - 男人 + 女人", "北京 - 中国 + 法国")),
    "en": Shown(
        "English",
        ("banana", "paris", "doctor", "happy"),
        ("king - man + woman", "beijing - china + france", "walked - walk + swim"),
    ),
}
