"""The loss of a model on sentences, token by token, and its answers: for networks with a part left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inlaid.errors import SettingError
from inlaid.messages import Listed
from inlaid.report import Note, Report, silent
from inlaid.study.attend.reading import read_target, read_text
from inlaid.study.attend.weights import own_target
from inlaid.study.use.encoding import encode, token_id
from inlaid.study.use.masks import MASKS, fill_masks

if TYPE_CHECKING:
    from inlaid.neural.model import Model

ROWS = 64
"""Copies of a sentence computed at a time."""


@dataclass(frozen=True, eq=False)
class Item:
    """A sentence as a network takes it, and the tokens that it is to predict."""

    ids: np.ndarray
    """(copy, token): of a masked model one copy for each hidden token, otherwise one."""
    target: np.ndarray | None
    """(1, token): what the decoder of a seq2seq reads."""
    segments: np.ndarray
    rows: np.ndarray
    """(prediction,): the copy that predicts"""
    columns: np.ndarray
    """(prediction,): at this token"""
    gold: np.ndarray
    """(prediction,): this id."""


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses in nats, and the likeliest answers."""

    sums: np.ndarray
    """(sentence,)"""
    counts: np.ndarray
    """(sentence,): predictions."""
    answers: list[np.ndarray]
    """For each sentence the likeliest id of each prediction."""
    right: float

    @property
    def loss(self) -> float:
        """The mean over sentences of their loss per token."""
        return float((self.sums / self.counts).mean())

    @property
    def accuracy(self) -> float:
        return self.right


def items_of(model: Model, sentences: Sequence[tuple[str, str | None]], report: Report) -> list[Item]:
    """The sentences that the model can read; the others are counted in a note."""
    found: list[Item] = []
    left_out = 0
    for source, target in sentences:
        try:
            item = _item(model, source, target)
        except SettingError:
            item = None
        if item is None:
            left_out += 1
        else:
            found.append(item)
    if left_out:
        report(
            Note(
                "{count:,} sentences are left out: this model cannot read them whole, or they have too few "
                "tokens.",
                count=left_out,
            )
        )
    if not found:
        raise SettingError("This model can read none of the sentences. Give a text of its language.")
    return found


def _item(model: Model, source: str, target: str | None) -> Item | None:
    kind = model.config.kind
    if kind == "seq2seq":
        return _pair(model, source, own_target(model, source, silent) if target is None else target)
    reading = read_text(model, source, silent)
    ids = np.array(reading.ids)
    if kind == "decoder":
        if len(ids) < 2:
            return None
        places = np.arange(len(ids) - 1)
        return Item(ids[None], None, np.zeros((1, len(ids)), int), np.zeros_like(places), places, ids[1:])
    own = np.flatnonzero(~reading.special[reading.groups])
    mask = mask_id(model)
    copies = np.repeat(ids[None], len(own), 0)
    copies[np.arange(len(own)), own] = mask
    segments = np.repeat(np.array(reading.segments)[None], len(own), 0)
    return Item(copies, None, segments, np.arange(len(own)), own, ids[own]) if len(own) else None


def _pair(model: Model, source: str, target: str) -> Item | None:
    read = read_text(model, source, silent)
    written = read_target(model, target)
    ends = model.config.special.end
    gold = np.array([*written.ids[1:], *ends[:1]])
    places = np.arange(len(gold))
    if not len(gold):
        return None
    segments = np.zeros((1, len(read.ids)), int)
    return Item(np.array([read.ids]), np.array([written.ids]), segments, np.zeros_like(places), places, gold)


def mask_id(model: Model) -> int:
    """The id of the token that hides a word."""
    found = next((id for name in MASKS if (id := token_id(model.tokenizer, name)) is not None), None)
    if found is None:
        raise SettingError(
            "The tokenizer of this model has no mask ({masks}). Use a masked language model.",
            masks=Listed(MASKS),
        )
    return found


def losses(model: Model, items: Sequence[Item]) -> Losses:
    """The loss of every prediction, by the network as it is now."""
    import torch
    from torch.nn import functional

    sums: list[float] = []
    answers: list[np.ndarray] = []
    right = 0
    with torch.no_grad():
        for item in items:
            logits = _logits(model, item)
            gold = torch.from_numpy(item.gold).to(logits.device)
            sums.append(float(functional.cross_entropy(logits, gold, reduction="sum")))
            best = logits.argmax(-1)
            right += int((best == gold).sum())
            answers.append(best.cpu().numpy())
    counts = np.array([len(item.gold) for item in items])
    return Losses(np.array(sums), counts, answers, right / int(counts.sum()))


def _logits(model: Model, item: Item) -> Any:
    """(prediction, word)"""
    import torch

    from inlaid.neural.encoder import Encoder
    from inlaid.neural.seq2seq import Seq2Seq

    network = model.network
    ids = torch.from_numpy(item.ids).to(model.device)
    if isinstance(network, Seq2Seq):
        assert item.target is not None
        return network(ids, torch.from_numpy(item.target).to(model.device)).logits[0].float()
    if not isinstance(network, Encoder):
        return network(ids).logits[0, :-1].float()
    parts: list[Any] = []
    for start in range(0, len(ids), ROWS):
        some = slice(start, start + ROWS)
        options: dict[str, Any] = {}
        if model.config.segment_types:
            options["segments"] = torch.from_numpy(item.segments[some]).to(model.device)
        hidden = network(ids[some], logits=False, **options).hidden
        columns = torch.from_numpy(item.columns[some])
        assert network.head is not None
        parts.append(network.head(hidden[torch.arange(len(hidden)), columns]).float())
    return torch.cat(parts)


def answer(model: Model, text: str, report: Report) -> str:
    """What the model answers to a text: words for its blanks, the next token, or a translation."""
    from inlaid.neural.predict import next_distributions
    from inlaid.study.use.encoding import Tokens
    from inlaid.study.use.next import likely

    kind = model.config.kind
    if kind == "seq2seq":
        return own_target(model, text, silent)
    if kind == "encoder":
        return " ".join(words[0].word for words in fill_masks(model, text, 1, report).masks)
    ids = encode(model, text, report, added_end=False).ids
    return likely(Tokens(model.tokenizer), next_distributions(model, ids)[-1], 1)[0].token
