"""BiLM: two LSTMs, one reading each way, over words spelled out (ELMo).

characters -> convolutions -> highways -> projection -> LSTM layers, forward and backward -> both side by side
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from inlaid.errors import SettingError
from inlaid.neural.architecture import Architecture
from inlaid.neural.blocks import ACTIVATIONS
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.stack import checked

START = 256
STOP = 257
WORD_START = 258
WORD_STOP = 259
PAD = 260
"""Characters past the 256 bytes: sentence and word boundaries, and what fills a short word. Id 0 is no word
at all."""


@dataclass
class State:
    """What one LSTM remembers: its last output (batch, dim) and its cells (batch, inner)."""

    output: Tensor
    cells: Tensor


@dataclass
class Read:
    """What a biLM made of a text. `layers`: the word vectors, then each LSTM layer (batch, token, 2 dim)."""

    layers: tuple[Tensor, ...]
    states: list[State] = field(default_factory=list[State])
    """What all LSTMs remember at the end, to go on reading the same document."""
    forward_logits: Tensor | None = None
    backward_logits: Tensor | None = None
    """Of the next word, and of the one before: the last layer of each direction through one head."""


class Highway(nn.Module):
    """A learned share of the input passes as it is, the rest through a layer (Srivastava et al. 2015)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        share = self.gate(x).sigmoid()
        return share * self.transform(x).relu() + (1 - share) * x


class Spelling(nn.Module):
    """A word's vector from its characters, so that no word is unknown."""

    def __init__(self, shape: Architecture) -> None:
        super().__init__()
        self.table = TokenEmbedding(shape.characters, shape.character_dim, padding_idx=0)
        groups = zip(shape.filter_widths, shape.filter_counts, strict=True)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(shape.character_dim, count, width) for width, count in groups
        )
        total = sum(shape.filter_counts)
        self.highways = nn.ModuleList(Highway(total) for _ in range(shape.highways))
        self.project = nn.Linear(total, shape.dim)
        self.activation = ACTIVATIONS[shape.activation]

    def forward(self, characters: Tensor) -> Tensor:
        """(batch, token, character) -> (batch, token, dim)"""
        rows = self.table(characters.flatten(0, 1)).transpose(1, 2)
        x = torch.cat([self.activation(each(rows).amax(-1)) for each in self.convolutions], -1)
        for highway in self.highways:
            x = highway(x)
        return self.project(x).view(*characters.shape[:2], -1)


class ProjectedLSTM(nn.Module):
    """An LSTM whose wide cells send a narrow, clipped output on (Sak et al. 2014)."""

    def __init__(self, shape: Architecture, *, backward: bool) -> None:
        super().__init__()
        self.backward = backward
        self.cells = shape.inner_width
        self.cell_clip = shape.cell_clip or torch.inf
        self.projection_clip = shape.projection_clip or torch.inf
        self.input = nn.Linear(shape.dim, 4 * self.cells)
        self.hidden = nn.Linear(shape.dim, 4 * self.cells, bias=False)
        self.project = nn.Linear(self.cells, shape.dim, bias=False)

    def forward(self, x: Tensor, mask: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """x (batch, token, dim), mask (batch, token, 1): outputs, and what is remembered after the last real
        token."""
        state = state or State(x.new_zeros(len(x), x.shape[2]), x.new_zeros(len(x), self.cells))
        fed = self.input(x)
        outputs = list[Tensor]()
        order = range(x.shape[1] - 1, -1, -1) if self.backward else range(x.shape[1])
        for place in order:
            new = self._step(fed[:, place], state)
            real = mask[:, place]
            state = State(
                torch.where(real, new.output, state.output), torch.where(real, new.cells, state.cells)
            )
            outputs.append(state.output)
        return torch.stack(outputs[::-1] if self.backward else outputs, 1), state

    def _step(self, fed: Tensor, state: State) -> State:
        let_in, news, keep, let_out = (fed + self.hidden(state.output)).chunk(4, -1)
        # forget little at first (Jozefowicz et al. 2015): the 1 is not in the weights
        cells = (keep + 1).sigmoid() * state.cells + let_in.sigmoid() * news.tanh()
        cells = cells.clamp(-self.cell_clip, self.cell_clip)
        output = self.project(let_out.sigmoid() * cells.tanh())
        return State(output.clamp(-self.projection_clip, self.projection_clip), cells)


class BiLM(nn.Module):
    """Reads words by their characters, or by a table where the architecture has no characters."""

    def __init__(self, shape: Architecture) -> None:
        super().__init__()
        self.shape = shape
        self.spelling = Spelling(shape) if shape.characters else None
        self.tokens = (
            None if shape.characters else TokenEmbedding(shape.words, shape.dim, padding_idx=shape.padding)
        )
        self.ahead = nn.ModuleList(ProjectedLSTM(shape, backward=False) for _ in range(shape.layers))
        self.back = nn.ModuleList(ProjectedLSTM(shape, backward=True) for _ in range(shape.layers))
        self.head = (
            OutputEmbedding(shape.words, shape.dim, bias=shape.head_bias) if shape.head == "linear" else None
        )

    def forward(self, ids: Tensor, mask: Tensor | None = None, *, states: Sequence[State] = ()) -> Read:
        """ids (batch, token, character), or (batch, token) by table; `states` of an earlier call go on where
        it ended."""
        real = checked(ids[..., 0] if ids.dim() == 3 else ids, mask)
        real = torch.ones(ids.shape[:2], dtype=torch.bool, device=ids.device) if real is None else real
        x = self._words(ids)
        layers = [torch.cat([x, x], -1)]
        ended = list[State]()
        ahead = back = x
        for number, (one, two) in enumerate(zip(self.ahead, self.back, strict=True)):
            known = states[2 * number : 2 * number + 2] if states else (None, None)
            (read_ahead, end) = one(ahead, real[..., None], known[0])
            (read_back, start) = two(back, real[..., None], known[1])
            # from the second layer on, what came in is added to what goes out
            ahead, back = (read_ahead + ahead, read_back + back) if number else (read_ahead, read_back)
            layers.append(torch.cat([ahead, back], -1))
            ended += [end, start]
        logits = (None, None) if self.head is None else (self.head(ahead), self.head(back))
        return Read(tuple(layers), ended, *logits)

    def _words(self, ids: Tensor) -> Tensor:
        if self.spelling is not None:
            if ids.dim() != 3 or ids.shape[2] != self.shape.token_length:
                raise SettingError(
                    f"Expected ids (text, token, {self.shape.token_length} characters); found {tuple(ids.shape)}. Use spell()."
                )
            return self.spelling(ids)
        assert self.tokens is not None
        return self.tokens(ids)


def spell(sentences: Sequence[Sequence[str]], length: int = 50) -> tuple[Tensor, Tensor]:
    """Character ids (text, token, character) with sentence boundaries, and the mask of real tokens.

    A word's UTF-8 bytes stand between word boundaries; bytes past `length` - 2 are left out, as ELMo does.
    """
    rows = [[_bytes(word) for word in ("<S>", *words, "</S>")] for words in sentences]
    longest = max((len(row) for row in rows), default=0)
    ids = torch.zeros(len(rows), longest, length, dtype=torch.int64)
    for text, row in enumerate(rows):
        for place, word in enumerate(row):
            spelled = [WORD_START, *word[: length - 2], WORD_STOP]
            ids[text, place] = (
                functional.pad(torch.tensor(spelled), (0, length - len(spelled)), value=PAD) + 1
            )
    return ids, ids.any(-1)


def _bytes(word: str) -> list[int]:
    return {"<S>": [START], "</S>": [STOP]}.get(word) or list(word.encode("utf-8"))
