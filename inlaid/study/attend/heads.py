"""`inlaid heads`: attention heads named by what they do, each with a score against chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel
from inlaid.report import Report, silent
from inlaid.study import figures
from inlaid.study.analysis import analysis, local_only
from inlaid.study.attend.head_sentences import WORLD, HeadSentences
from inlaid.study.attend.named_heads import Example, Heads, HeadsSettings, NamedHead
from inlaid.study.attend.patterns import AT_LEAST, Measured
from inlaid.study.attend.weights import with_attention
from inlaid.study.evaluate.false_discovery import benjamini_hochberg
from inlaid.study.evaluate.statistics import interval, mean
from inlaid.study.model_line import model_line

EXAMPLES = 3


@analysis
@local_only("text")
def heads(
    model: AnyModel,
    settings: HeadsSettings | None = None,
    *,
    text: str = WORLD,
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Heads:
    """Name attention heads by what they do: previous token, next token, itself, first token, delimiter, same
    word, induction, object to verb, pronoun to referent, word to category, contrast.

    Each name has a score, the mean weight on the keys that are meant, beside chance. For places, chance is a
    head that attends uniformly; for links between words, it is what the same head gives to these distances in
    other sentences, so that a head that looks at a fixed distance gets no name for it. Names need a score
    well above chance, and significance at a false discovery rate over all heads and patterns. Relations
    between words are known in the embedded world only; with another text, heads are asked about places, same
    word and induction. A name says what a head attends to on these sentences, not what it is for.

    Args:
        model: the folder of a model with attention; of a seq2seq, --part says which attention
        text: a file with one sentence a line, or world: the embedded world
        output: also write a picture (.png) or a page (.html)

    Examples:
        inlaid heads model
        inlaid heads model --text text.txt --language zh -o heads.png
    """
    settings = settings or HeadsSettings()
    loaded = with_attention(model)
    if output is not None:
        figures.writable(output, Message("A table of heads"), overwrite=overwrite)
    sentences = HeadSentences(loaded, settings, text, report)
    found = sentences.measured()
    if not found:
        raise SettingError(
            "No pattern could be measured: the text has too few sentences that this model can read; "
            "{least} are needed.",
            least=AT_LEAST,
        )
    layers, count = found[0].score.shape
    adjusted = _adjusted(found)
    made = Heads(
        model=model_line(loaded),
        part=sentences.part,
        layers=layers,
        heads=count,
        named=_named(found, adjusted, settings),
        closest=_closest(found, adjusted, settings),
        measured=tuple(found),
        adjusted=adjusted,
        settings=settings,
        text=text,
    )
    if output is not None:
        from inlaid.study.attend.heads_pictures import write_heads

        made = replace(made, output=output)
        write_heads(made, output, report)
    return made


def _named(
    found: Sequence[Measured], adjusted: Sequence[np.ndarray], settings: HeadsSettings
) -> tuple[NamedHead, ...]:
    """The heads that have a name, in the order of layers and heads."""
    named: list[NamedHead] = []
    for each, p in zip(found, adjusted, strict=True):
        for layer, head in np.argwhere(_passed(each, p, settings)).tolist():
            named.append(_head(each, layer, head, p, settings.seed))
    return tuple(sorted(named, key=lambda each: (each.layer, each.head, -each.above)))


def _closest(
    found: Sequence[Measured], adjusted: Sequence[np.ndarray], settings: HeadsSettings
) -> tuple[NamedHead, ...]:
    """Of each pattern that is the name of no head, the head that has gone furthest from chance to 1."""
    closest: list[NamedHead] = []
    for each, p in zip(found, adjusted, strict=True):
        if not _passed(each, p, settings).any():
            layer, head = map(int, np.unravel_index(int(each.above.argmax()), each.above.shape))
            closest.append(_head(each, layer, head, p, settings.seed))
    return tuple(closest)


def _passed(found: Measured, p: np.ndarray, settings: HeadsSettings) -> np.ndarray:
    return (found.above >= settings.at_least) & (p <= settings.false_discovery)


def _adjusted(found: Sequence[Measured]) -> tuple[np.ndarray, ...]:
    """The p of every pattern and head (layer, head), adjusted over all of them together."""
    together = benjamini_hochberg(np.concatenate([each.p.ravel() for each in found]))
    ends = np.cumsum([each.p.size for each in found])[:-1]
    return tuple(p.reshape(each.p.shape) for p, each in zip(np.split(together, ends), found, strict=True))


def _head(measured: Measured, layer: int, head: int, adjusted: np.ndarray, seed: int) -> NamedHead:
    """A head with its name, and the sentences that show it best."""
    scores = measured.scores[:, layer, head]
    best = np.argsort(-scores, kind="stable")[:EXAMPLES].tolist()
    return NamedHead(
        layer=layer,
        head=head,
        name=measured.pattern,
        language=measured.language,
        score=float(scores.mean()),
        interval=interval(scores[:, None], mean, seed=seed),
        chance=float(measured.chance[layer, head]),
        above=float(measured.above[layer, head]),
        adjusted_p=float(adjusted[layer, head]),
        sentences=len(scores),
        examples=tuple(
            Example(measured.sample[each].text, measured.sample[each].words, float(scores[each]))
            for each in best
        ),
    )
