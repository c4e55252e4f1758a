"""One prediction of a model, as a function of the token vectors that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from inlaid.encode.tokenizers import Tokenizer
from inlaid.errors import SettingError
from inlaid.report import Report
from inlaid.study.attend.losses import mask_id
from inlaid.study.attend.reading import Reading, read_target, read_text
from inlaid.study.attend.weights import Weights, run
from inlaid.study.use.encoding import Tokens, token_id
from inlaid.study.use.masks import BLANK, MASKS

if TYPE_CHECKING:
    from inlaid.neural.model import Model

Baseline = Literal["mask", "mean", "zero"]
ROWS = 16
"""Points of a path computed at a time."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """The log probability of one token at one place, given the token vectors of one text, or two."""

    model: Model
    text: str
    target: str | None
    readings: tuple[Reading, ...]
    """The text, and for a seq2seq what its decoder has read."""
    place: int
    """The token at which the prediction is made."""
    id: int
    answer: str
    rows: tuple[Any, ...]
    """(1, token, dim): the token vectors."""
    baselines: tuple[Any, ...]
    """The same, without the words of the text; special tokens stay."""
    baseline_name: str

    def log_probabilities(self, rows: Sequence[Any]) -> Any:
        """(batch,): with these token vectors (batch, token, dim) for each text."""
        from inlaid.neural.inside import given_rows

        with given_rows(self.model.network, *rows):
            logits = _logits(self.model, self.readings, self.place, len(rows[0]))
        return logits.float().log_softmax(-1)[:, self.id]

    def log_probability(self) -> float:
        return self._value(self.rows)

    def baseline_log_probability(self) -> float:
        return self._value(self.baselines)

    def _value(self, rows: Sequence[Any]) -> float:
        import torch

        with torch.no_grad():
            return float(self.log_probabilities(rows)[0])

    def integrated_gradients(self, steps: int) -> list[np.ndarray]:
        """For each text (word,): the mean gradient on the straight line from the baseline to the text, times
        the way (Sundararajan et al. 2017); by the midpoint rule."""
        import torch

        shares = (torch.arange(steps) + 0.5) / steps
        totals = [torch.zeros_like(each[0]) for each in self.rows]
        for some in shares.split(ROWS):
            scale = some[:, None, None].to(self.rows[0])
            between = [
                base + scale * (row - base) for row, base in zip(self.rows, self.baselines, strict=True)
            ]
            for total, gradient in zip(totals, self._gradients(between), strict=True):
                total += gradient.sum(0)
        return self._by_word(
            [
                total / steps * (row - base)[0]
                for total, row, base in zip(totals, self.rows, self.baselines, strict=True)
            ]
        )

    def gradient_x_input(self) -> list[np.ndarray]:
        """For each text (word,): the gradient at the text itself, times the token vectors."""
        gradients = self._gradients([each.clone() for each in self.rows])
        return self._by_word(
            [gradient[0] * row[0] for gradient, row in zip(gradients, self.rows, strict=True)]
        )

    def _gradients(self, rows: list[Any]) -> Sequence[Any]:
        import torch

        with torch.enable_grad():
            leaves = [each.detach().requires_grad_() for each in rows]
            total = self.log_probabilities(leaves).sum()
            return torch.autograd.grad(total, leaves)

    def _by_word(self, by_component: Sequence[Any]) -> list[np.ndarray]:
        found = []
        for reading, each in zip(self.readings, by_component, strict=True):
            tokens = each.sum(-1).double().cpu().numpy()
            found.append(np.bincount(reading.groups, tokens, len(reading.words)))
        return found

    def effects(self, full: float) -> list[np.ndarray]:
        """For each text (word,): what is lost when the word alone is replaced by the baseline."""
        found = []
        for side, reading in enumerate(self.readings):
            losses = np.zeros(len(reading.words))
            for word in range(len(reading.words)):
                rows = [each.clone() for each in self.rows]
                places = reading.tokens_of(word)
                rows[side][:, places] = self.baselines[side][:, places]
                losses[word] = full - self._value(rows)
            found.append(losses)
        return found

    def fixed(self) -> list[np.ndarray]:
        """For each text (word,): whether the baseline leaves the word as it is."""
        found = []
        for reading, row, base in zip(self.readings, self.rows, self.baselines, strict=True):
            moved = (row != base).any(-1)[0].cpu().numpy()
            found.append(np.bincount(reading.groups, moved, len(reading.words)) == 0)
        return found

    def attention(self) -> list[np.ndarray]:
        """For each text (word,): the mean over the heads of the last layer, from the place of the
        prediction."""
        found = self._weights()
        names = ["cross", "decoder"] if len(self.readings) == 2 else list(found)
        last = [found[name][-1].mean(0)[self.place] for name in names]
        return [
            np.bincount(reading.groups, row, len(reading.words))
            for reading, row in zip(self.readings, last, strict=True)
        ]

    def rollout(self) -> np.ndarray | None:
        """(word,): attention rollout from the place of the prediction; none for two texts."""
        if len(self.readings) == 2:
            return None
        (name, tokens), *_ = self._weights().items()
        reading = self.readings[0]
        single = Reading(
            reading.text,
            reading.ids,
            reading.segments,
            reading.tokens,
            reading.tokens,
            np.arange(len(reading.ids)),
            np.zeros(len(reading.ids), bool),
            ((0, 0),) * len(reading.ids),
        )
        rolled = Weights(name, single, single, tokens).rollout()
        assert rolled is not None
        return np.bincount(reading.groups, rolled[self.place], len(reading.words))

    def _weights(self) -> dict[Any, np.ndarray]:
        return run(self.model, self.readings[0], self.readings[1] if len(self.readings) == 2 else None)


def prediction_of(
    model: Model,
    text: str,
    target: str | None,
    answer: str | None,
    words: Tokenizer,
    baseline: Baseline | None,
    report: Report,
) -> Prediction:
    """What the model predicts for a text: for its blank, after it, or after the beginning of its answer."""
    import torch

    kind = model.config.kind
    if target is not None and kind != "seq2seq":
        raise SettingError("A target is for models with an encoder and a decoder. Leave it out.")
    if kind == "encoder":
        text, place = _with_mask(model, text)
        readings: tuple[Reading, ...] = (read_text(model, text, report, tokenizer=words),)
        place = readings[0].ids.index(place)
    else:
        readings = (read_text(model, text, report, tokenizer=words),)
        if kind == "seq2seq":
            readings = (*readings, read_target(model, target or "", tokenizer=words))
        place = len(readings[-1].ids) - 1
    with torch.no_grad():
        logits = _logits(model, readings, place, 1)[0]
    id = int(logits.argmax()) if answer is None else _answer_id(model, answer)
    rows = tuple(_rows(model, readings))
    chosen: Baseline = baseline or ("mask" if kind == "encoder" else "mean")
    return Prediction(
        model,
        text,
        target,
        readings,
        place,
        id,
        Tokens(model.tokenizer).shown(id),
        rows,
        tuple(_baseline_rows(model, readings, rows, chosen)),
        chosen,
    )


def _with_mask(model: Model, text: str) -> tuple[str, int]:
    """The text with the model's own mask, which is in it once, and the id of the mask."""
    mask = mask_id(model)
    blanks = len(BLANK.findall(text))
    if blanks != 1:
        raise SettingError(
            "The text holds {blanks} blanks; expected one, written ___ or [MASK]: '{text}'.",
            blanks=blanks,
            text=text,
        )
    name = next(each for each in MASKS if token_id(model.tokenizer, each) == mask)
    return BLANK.sub(name, text), mask


def _answer_id(model: Model, answer: str) -> int:
    """The id of a token by its spelling, with or without the mark of a space."""
    from inlaid.neural.tokenizer_pair import PairTokenizer

    tokenizer = model.tokenizer
    for spelled in (answer, f"Ġ{answer}", f"▁{answer}"):
        if isinstance(tokenizer, PairTokenizer):
            id = tokenizer.target_vocabulary.get(spelled)
        else:
            id = token_id(tokenizer, spelled)
        if id is not None:
            return id
    ids = (
        [] if isinstance(tokenizer, PairTokenizer) else tokenizer.encode(answer, add_special_tokens=False).ids
    )
    if len(ids) == 1:
        return ids[0]
    raise SettingError(
        "'{answer}' is no single token of this model. Give one that is: `inlaid next` and `inlaid fill` list "
        "likely ones.",
        answer=answer,
    )


def _logits(model: Model, readings: Sequence[Reading], place: int, copies: int) -> Any:
    """(copy, word) at the place of the prediction, of which the token vectors may be replaced meanwhile."""
    import torch

    from inlaid.neural.encoder import Encoder
    from inlaid.neural.seq2seq import Seq2Seq

    network = model.network
    ids = [torch.tensor([each.ids] * copies, device=model.device) for each in readings]
    if isinstance(network, Seq2Seq):
        hidden = network(ids[0], ids[1], logits=False).hidden
    elif isinstance(network, Encoder) and model.config.segment_types:
        segments = torch.tensor([readings[0].segments] * copies, device=model.device)
        hidden = network(ids[0], segments=segments, logits=False).hidden
    else:
        hidden = network(ids[0], logits=False).hidden
    assert network.head is not None
    return network.head(hidden[:, place])


def _tables(model: Model) -> list[Any]:
    from inlaid.neural.seq2seq import Seq2Seq

    network: Any = model.network
    return [network.tokens, network.decoder_tokens] if isinstance(network, Seq2Seq) else [network.tokens]


def _rows(model: Model, readings: Sequence[Reading]) -> list[Any]:
    import torch

    with torch.no_grad():
        return [
            table(torch.tensor([reading.ids], device=model.device))
            for table, reading in zip(_tables(model), readings, strict=False)
        ]


def _baseline_rows(
    model: Model, readings: Sequence[Reading], rows: Sequence[Any], chosen: Baseline
) -> list[Any]:
    """The baseline for every token of the text; special tokens keep their vectors, as does the mask."""
    found = []
    for table, reading, row in zip(_tables(model), readings, rows, strict=False):
        absent = _absent(model, table, chosen)
        kept = row.clone()
        own = np.flatnonzero(~reading.special[reading.groups])
        kept[:, own] = absent
        found.append(kept)
    return found


def _absent(model: Model, table: Any, chosen: Baseline) -> Any:
    weight = table.weight.detach()
    if chosen == "zero":
        return weight.new_zeros(weight.shape[1])
    return weight.mean(0) if chosen == "mean" else weight[mask_id(model)]
