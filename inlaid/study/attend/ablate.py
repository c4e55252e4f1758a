"""`inlaid ablate`: a head or a layer left out, and what changes in loss and in answers."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from inlaid.collect import world
from inlaid.config import Positive, Seed, check
from inlaid.errors import SettingError
from inlaid.messages import Message, word
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Note, Progress, Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.attend.losses import Item, Losses, answer, items_of, losses
from inlaid.study.attend.weights import Part, head_number, layer_number, with_attention
from inlaid.study.evaluate.statistics import Interval, interval, mean
from inlaid.study.model_line import model_line
from inlaid.study.use.texts import shortened, texts_of

if TYPE_CHECKING:
    from inlaid.neural.model import Model

USE = {"encoder": "fill", "decoder": "next", "seq2seq": "generate"}

WIDTH = 60
"""Characters of a text or an answer that a terminal shows."""


@dataclass(frozen=True, kw_only=True)
class AblateSettings:
    """What is left out, and on how many sentences the loss is measured."""

    layer: int | None = None
    """The layer; 0 is the first, -1 the last. Without a head, the whole block is skipped. Every head and
    every layer in turn when not given."""
    head: int | None = None
    """The head of that layer, counted from 0."""
    part: Part | None = None
    """Of a model with encoder and decoder: which attention; all of them in turn when nothing is named."""
    replace: Literal["zero", "mean"] = "zero"
    """What a head gives instead of its output: zeros, or the mean of its outputs over all sentences."""
    sentences: Positive = 40
    """Sentences that the loss is measured on."""
    language: Literal["zh", "en", "both"] = "both"
    """Languages of the embedded world, where no file is given."""
    seed: Seed = 2
    """Of the sentences of the embedded world, and of the bootstrap. 1 is what models are often trained on."""

    def __post_init__(self) -> None:
        check(self)
        if self.head is not None and self.layer is None:
            raise SettingError("head is given without layer: every layer has heads of its own. Add layer.")


@dataclass(frozen=True)
class Answer:
    """What the model answers to a text, and what it answers without the part that was left out."""

    text: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """One head or layer left out."""

    part: Part
    layer: int
    head: int | None
    """None: the whole block."""
    loss: float
    change: float
    """Of the loss, in nats per token: positive where the model is worse without it."""
    interval: Interval
    """95 % of the change, by the bootstrap over sentences."""
    changed: float
    """The share of tokens for which the likeliest answer is another."""
    accuracy: float
    answers: tuple[Answer, ...]


@dataclass(frozen=True, kw_only=True)
class Ablations:
    """What the loss was with the whole network, and without each part; the largest change first."""

    model: Message
    loss: float
    accuracy: float
    sentences: int
    tokens: int
    replace: str
    seed: int
    """Of the sentences, where they are the world's, and of the intervals."""
    parts: tuple[Ablation, ...]
    output: Path | None = None

    def rows(self) -> list[Row]:
        rows: list[Row] = [self.model, self.whole()]
        header = (
            Message("part"),
            Message("layer"),
            Message("head"),
            Message("change of loss"),
            Message("95 %"),
            Message("answers changed"),
            Message("accuracy"),
        )
        rows.append(tuple(header))
        for each in self.parts:
            head = Message("whole layer") if each.head is None else str(each.head)
            range_ = f"{each.interval.low:+.3f} … {each.interval.high:+.3f}"
            cells = (f"{each.change:+.3f}", range_, f"{each.changed:.1%}", f"{each.accuracy:.3f}")
            rows.append((word(each.part), str(each.layer), head, *cells))
        for each in self.parts:
            if len(self.parts) == 1 or any(one.before != one.after for one in each.answers):
                rows += self._answers(each)
        return [*rows, *figures.written(self.output)]

    def whole(self) -> Message:
        return Message(
            "whole network: loss {loss:.3f}, accuracy {accuracy:.3f} ({tokens:,} tokens of {n:,} sentences, "
            "seed {seed})",
            loss=self.loss,
            accuracy=self.accuracy,
            tokens=self.tokens,
            n=self.sentences,
            seed=self.seed,
        )

    def _answers(self, each: Ablation) -> list[Row]:
        if not each.answers:
            return []
        name = Message("without {part}, layer {layer}", part=word(each.part), layer=each.layer)
        if each.head is not None:
            name = Message(
                "without {part}, layer {layer}, head {head}",
                part=word(each.part),
                layer=each.layer,
                head=each.head,
            )
        rows: list[Row] = ["", name]
        rows += [
            (shortened(one.text, WIDTH), f"{shortened(one.before, WIDTH)} → {shortened(one.after, WIDTH)}")
            for one in each.answers
        ]
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
def ablate(
    model: AnyModel,
    texts: Sequence[str] = (),
    settings: AblateSettings | None = None,
    *,
    file: Path | None = None,
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Ablations:
    """Leave out a head or a layer, and see what changes in loss and in answers.

    The loss is that of training: of hidden words (each token of a sentence hidden in turn), of the next
    token, or of a translation. Afterwards the network is what it was: nothing in it is changed. What a head
    does can be taken over by others, so a small change does not say that it does nothing; and a network
    without a part of it is one that was never trained.

    >>> ablate(model, "我喜欢吃[MASK]", layer=1, head=2)

    Args:
        model: the folder of a masked model, a decoder or a seq2seq
        texts: texts whose answers are shown: with blanks for a masked model, the beginning for a decoder, a
            source for a seq2seq
        file: a file with one sentence a line to measure the loss on; the embedded world when not given. A
            seq2seq without a file is measured on the world's translations, otherwise on its own answers
        output: also write a picture (.png) or a page (.html)

    Examples:
        inlaid ablate model --layer 2 --head 1
        inlaid ablate model --file texts.txt -o ablation.png
    """
    settings = settings or AblateSettings()
    loaded = with_attention(model)
    check_use(loaded, USE[loaded.config.kind])
    if output is not None:
        figures.writable(output, Message("A table of ablations"), overwrite=overwrite)
    asked = [texts] if isinstance(texts, str) else list(texts)
    items = items_of(loaded, _sentences(loaded, settings, file, report), report)
    made = _ablations(loaded, settings, items, asked, report)
    if output is not None:
        from inlaid.study.attend.ablate_pictures import write_ablations

        made = replace(made, output=output)
        write_ablations(made, output, report)
    return made


def _sentences(
    model: Model, settings: AblateSettings, file: Path | None, report: Report
) -> list[tuple[str, str | None]]:
    """Sentences, and for a seq2seq of the world their translations."""
    count = settings.sentences
    if file is not None:
        lines = (line for line in texts_of((), file, "text", report) if line.strip())
        return [
            (line, None)
            for line in itertools.islice(dict.fromkeys(itertools.islice(lines, 20 * count)), count)
        ]
    if model.config.kind == "seq2seq":
        # The direction of the model: that whose target it can read.
        pairs = list(itertools.islice(world.pairs(words=100_000, seed=settings.seed), count))
        report(Note("The loss is that of the world's translations from Chinese to English."))
        if settings.language == "en":
            return [(pair.en, pair.zh) for pair in pairs]
        return [(pair.zh, pair.en) for pair in pairs]
    found = world.sentences(settings.language, words=100_000, seed=settings.seed)
    return [(line, None) for line in itertools.islice(found, count)]


def _ablations(
    model: Model, settings: AblateSettings, items: list[Item], texts: list[str], report: Report
) -> Ablations:
    places = _places(model, settings)
    means = _means(model, items) if settings.replace == "mean" else {}
    whole = losses(model, items)
    before = [answer(model, text, report) for text in texts]
    found: list[Ablation] = []
    for number, place in enumerate(places):
        with _left_out(model, place, means):
            without = losses(model, items)
            after = [answer(model, text, silent) for text in texts]
        answers = tuple(map(Answer, texts, before, after))
        found.append(_ablation(place, whole, without, answers, settings.seed))
        report(Progress("ablating", number + 1, len(places), "parts"))
    found.sort(key=lambda each: -each.change)
    return Ablations(
        model=model_line(model),
        loss=whole.loss,
        accuracy=whole.accuracy,
        sentences=len(items),
        tokens=int(whole.counts.sum()),
        replace=settings.replace,
        seed=settings.seed,
        parts=tuple(found),
    )


def _ablation(place: Any, whole: Losses, without: Losses, answers: tuple[Answer, ...], seed: int) -> Ablation:
    changes = (without.sums - whole.sums) / whole.counts  # the mean of each sentence
    changed = np.concatenate(without.answers) != np.concatenate(whole.answers)
    return Ablation(
        part=place.part,
        layer=place.layer,
        head=getattr(place, "head", None),
        loss=without.loss,
        change=float(changes.mean()),
        interval=interval(changes[:, None], mean, seed=seed),
        changed=float(changed.mean()),
        accuracy=without.accuracy,
        answers=answers,
    )


def _places(model: Model, settings: AblateSettings) -> list[Any]:
    """The heads and layers to leave out."""
    from inlaid.neural.inside import HeadPlace, LayerPlace, attentions, stacks

    parts: list[Part] = list(stacks(model.network))
    if settings.part is not None:
        parts = [settings.part]
    found: list[Any] = []
    for part in parts:
        modules = attentions(model.network, part)
        layers = range(len(modules))
        if settings.layer is not None:
            layers = [layer_number(settings.layer, len(modules))]
        for layer in layers:
            heads = range(modules[layer].heads)
            if settings.head is not None:
                found.append(HeadPlace(part, layer, head_number(settings.head, len(heads))))
                continue
            if part != "cross":
                found.append(LayerPlace(part, layer))
            if settings.layer is None or part == "cross":
                found += [HeadPlace(part, layer, head) for head in heads]
    return found


@contextlib.contextmanager
def _left_out(model: Model, place: Any, means: dict[Any, Any]) -> Iterator[None]:
    from inlaid.neural.inside import HeadPlace, without_heads, without_layers

    if isinstance(place, HeadPlace):
        with without_heads(model.network, [place], means):
            yield
        return
    with without_layers(model.network, [place]):
        yield


def _means(model: Model, items: list[Item]) -> dict[Any, Any]:
    from inlaid.neural.inside import mean_outputs, stacks

    with mean_outputs(model.network, list(stacks(model.network))) as found:
        losses(model, items)
    return found
