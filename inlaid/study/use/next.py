"""The distribution of the next token, after the last layer or after each (logit lens)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inlaid.config import Positive, check
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Report, silent
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.use.encoding import Tokens, encode, visible

ACROSS = 3
"""Tokens shown for each layer."""


@dataclass(frozen=True, kw_only=True)
class NextSettings:
    """What is shown of the distribution."""

    n: Positive = 10
    """How many tokens to return."""
    layers: bool = False
    """The distribution after each layer, too: the final norm and the output layer applied to the hidden
    states of that layer (logit lens)."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class LikelyToken:
    """A token that may come next. Ġ or ▁ before it stands for a space."""

    token: str
    id: int
    probability: float


@dataclass(frozen=True)
class Layer:
    """The likeliest tokens by the hidden states of one layer; 0 is the input of the first block."""

    layer: int
    tokens: tuple[LikelyToken, ...]


@dataclass(frozen=True, kw_only=True)
class NextTokens:
    """The likeliest next tokens, and what the model had read."""

    text: str
    read: tuple[str, ...]
    """The tokens the model has read; of a seq2seq those of its decoder, the start token first."""
    tokens: tuple[LikelyToken, ...]
    layers: tuple[Layer, ...] = ()
    """By layer, where that was asked for."""

    def rows(self) -> list[Row]:
        rows: list[Row] = [(f"{each.probability:.4f}", visible(each.token)) for each in self.tokens]
        if not self.layers:
            return rows
        rows.append("")
        rows.append(Message("by layer"))
        for layer in self.layers:
            cells = [f"{visible(each.token)} {each.probability:.3f}" for each in layer.tokens[:ACROSS]]
            rows.append((str(layer.layer), *cells))
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
def next(
    model: AnyModel,
    text: str,
    settings: NextSettings | None = None,
    *,
    target: str | None = None,
    report: Report = silent,
) -> NextTokens:
    """The tokens most likely to come next after a text, with their probabilities.

    A decoder (GPT-2, Llama) continues the text. A seq2seq (Marian, T5) reads the text and starts its answer;
    `target` is the beginning of that answer.

    >>> next(model, "从前有一座", n=5)

    Args:
        model: the folder of a decoder or a seq2seq
        text: what comes before; for a seq2seq, the source
        target: for a seq2seq, the beginning of its answer

    Examples:
        inlaid next model "Once upon a"
        inlaid next model 从前有一座 -n 5 --layers
    """
    settings = settings or NextSettings()
    loaded = check_use(model, "next")
    from inlaid.neural.predict import next_distributions
    from inlaid.neural.tokens import target_ids

    seq2seq = loaded.config.kind == "seq2seq"
    if target is not None and not seq2seq:
        raise SettingError("A target is for models with an encoder and a decoder. Leave it out.")
    source = encode(loaded, text, report, added_end=seq2seq)
    so_far: list[int] = []
    if seq2seq:
        so_far = target_ids(loaded.tokenizer, target or "", loaded.config.special)
    found = next_distributions(loaded, source.ids, so_far, layers=settings.layers)
    tokens = Tokens(loaded.tokenizer)
    by_layer = [likely(tokens, row, settings.n) for row in found]
    read = [tokens.shown(id) for id in so_far] if seq2seq else [tokens.source(id) for id in source.ids]
    layers = tuple(Layer(*each) for each in enumerate(by_layer)) if settings.layers else ()
    return NextTokens(text=text, read=tuple(read), tokens=by_layer[-1], layers=layers)


def likely(tokens: Tokens, probabilities: Any, n: int) -> tuple[LikelyToken, ...]:
    """The `n` tokens with the largest of the probabilities (word,), the largest first."""
    best, ids = probabilities.topk(min(n, len(probabilities)))
    return tuple(
        LikelyToken(tokens.shown(id), id, probability)
        for id, probability in zip(ids.tolist(), best.tolist(), strict=True)
    )
