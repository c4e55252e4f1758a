"""BiLM: two LSTM language models, one for each direction, over characters (ELMo).

characters -> convolutions -> highways -> projection -> LSTM layers, forward and backward -> concatenated
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from inlaid.errors import SettingError
from inlaid.neural.blocks import ACTIVATIONS
from inlaid.neural.config import Config
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.stack import check_batch

SENTENCE_START = 256
SENTENCE_END = 257
WORD_START = 258
WORD_END = 259
PADDING = 260
"""Characters after the 256 bytes: sentence and word boundaries, and the padding of a short word. In the table
they are one row later: row 0 means no token."""


@dataclass
class LSTMState:
    """The state of one LSTM: its last output (batch, dim) and its cells (batch, cell_dim)."""

    output: Tensor
    cells: Tensor


@dataclass
class BiLMOutput:
    """`layers`: the word vectors, then the output of each LSTM layer (batch, token, 2 dim)."""

    layers: tuple[Tensor, ...]
    states: list[LSTMState] = field(default_factory=list[LSTMState])
    """Final states of all LSTMs, to continue the same document from."""
    forward_logits: Tensor | None = None
    backward_logits: Tensor | None = None
    """Of the next word, and of the previous one: the last layer of each direction through one head."""


class Highway(nn.Module):
    """A learned gate mixes the input with its transformation (Srivastava et al. 2015)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.gate(x).sigmoid()
        return gate * self.transform(x).relu() + (1 - gate) * x


class CharacterCNN(nn.Module):
    """A word's vector from its characters, so that no word is out of vocabulary."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        settings = config.characters
        self.table = TokenEmbedding(settings.vocab_size, settings.dim, padding_idx=0)
        groups = zip(settings.filter_widths, settings.filter_counts, strict=True)
        self.convolutions = nn.ModuleList(nn.Conv1d(settings.dim, count, width) for width, count in groups)
        filters = sum(settings.filter_counts)
        self.highways = nn.ModuleList(Highway(filters) for _ in range(settings.highways))
        self.project = nn.Linear(filters, config.dim)
        self.activation = ACTIVATIONS[settings.activation]

    def forward(self, characters: Tensor) -> Tensor:
        """(batch, token, character) -> (batch, token, dim)"""
        rows = self.table(characters.flatten(0, 1)).transpose(1, 2)
        x = torch.cat([self.activation(each(rows).amax(-1)) for each in self.convolutions], -1)
        for highway in self.highways:
            x = highway(x)
        return self.project(x).view(*characters.shape[:2], -1)


class ProjectedLSTM(nn.Module):
    """An LSTM whose outputs are projected to a smaller dimension and clipped (Sak et al. 2014)."""

    def __init__(self, config: Config, *, backward: bool) -> None:
        super().__init__()
        self.backward = backward
        self.cell_dim = config.cell_dim
        self.cell_clip = config.lstm.cell_clip or torch.inf
        self.projection_clip = config.lstm.projection_clip or torch.inf
        self.input = nn.Linear(config.dim, 4 * self.cell_dim)
        self.hidden = nn.Linear(config.dim, 4 * self.cell_dim, bias=False)
        self.project = nn.Linear(self.cell_dim, config.dim, bias=False)

    def forward(self, x: Tensor, mask: Tensor, state: LSTMState | None = None) -> tuple[Tensor, LSTMState]:
        """x (batch, token, dim), mask (batch, token, 1): outputs, and the state after the last real token."""
        state = state or LSTMState(x.new_zeros(len(x), x.shape[2]), x.new_zeros(len(x), self.cell_dim))
        projected = self.input(x)
        outputs = list[Tensor]()
        order = range(x.shape[1] - 1, -1, -1) if self.backward else range(x.shape[1])
        for position in order:
            new = self._step(projected[:, position], state)
            real = mask[:, position]
            output = torch.where(real, new.output, state.output)
            cells = torch.where(real, new.cells, state.cells)
            state = LSTMState(output, cells)
            outputs.append(output)
        return torch.stack(outputs[::-1] if self.backward else outputs, 1), state

    def _step(self, projected: Tensor, state: LSTMState) -> LSTMState:
        input_gate, candidate, forget_gate, output_gate = (projected + self.hidden(state.output)).chunk(4, -1)
        # a forget bias of 1 (Jozefowicz et al. 2015) that is not in the weights
        kept = (forget_gate + 1).sigmoid() * state.cells
        cells = (kept + input_gate.sigmoid() * candidate.tanh()).clamp(-self.cell_clip, self.cell_clip)
        output = self.project(output_gate.sigmoid() * cells.tanh())
        return LSTMState(output.clamp(-self.projection_clip, self.projection_clip), cells)


class BiLM(nn.Module):
    """Reads words by their characters, or from a table where the config has no characters."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.characters: CharacterCNN | None = None
        self.tokens: TokenEmbedding | None = None
        if config.characters.vocab_size:
            self.characters = CharacterCNN(config)
        else:
            self.tokens = TokenEmbedding(config.vocab_size, config.dim, padding_idx=config.special.padding)
        self.forward_lstms = nn.ModuleList(
            ProjectedLSTM(config, backward=False) for _ in range(config.layers)
        )
        self.backward_lstms = nn.ModuleList(
            ProjectedLSTM(config, backward=True) for _ in range(config.layers)
        )
        self.head: OutputEmbedding | None = None
        if config.head.kind == "linear":
            self.head = OutputEmbedding(config.vocab_size, config.dim, bias=config.head.bias)

    def forward(
        self, ids: Tensor, mask: Tensor | None = None, *, states: Sequence[LSTMState] = ()
    ) -> BiLMOutput:
        """ids (batch, token, character), or (batch, token) with a table; `states` of an earlier call continue
        from where it ended."""
        real = check_batch(ids[..., 0] if ids.dim() == 3 else ids, mask)
        if real is None:
            real = torch.ones(ids.shape[:2], dtype=torch.bool, device=ids.device)
        x = self._words(ids)
        forward = x
        backward = x
        layers = [torch.cat([x, x], -1)]
        final_states = list[LSTMState]()
        for number, lstms in enumerate(zip(self.forward_lstms, self.backward_lstms, strict=True)):
            initial = states[2 * number : 2 * number + 2] if states else (None, None)
            forward_output, forward_state = lstms[0](forward, real[..., None], initial[0])
            backward_output, backward_state = lstms[1](backward, real[..., None], initial[1])
            # residual connections from the second layer on
            forward = forward_output + forward if number else forward_output
            backward = backward_output + backward if number else backward_output
            layers.append(torch.cat([forward, backward], -1))
            final_states += [forward_state, backward_state]
        output = BiLMOutput(tuple(layers), final_states)
        if self.head is not None:
            output.forward_logits = self.head(forward)
            output.backward_logits = self.head(backward)
        return output

    def _words(self, ids: Tensor) -> Tensor:
        if self.characters is None:
            assert self.tokens is not None
            return self.tokens(ids)
        length = self.config.characters.max_length
        if ids.dim() != 3 or ids.shape[2] != length:
            raise SettingError(
                "Expected ids (text, token, {length} characters); found {found}. Use character_ids().",
                length=length,
                found=tuple(ids.shape),
            )
        return self.characters(ids)


def character_ids(sentences: Sequence[Sequence[str]], max_length: int = 50) -> tuple[Tensor, Tensor]:
    """Character ids (text, token, character) with sentence boundaries, and the mask of real tokens.

    A word is its UTF-8 bytes between word boundaries; bytes past `max_length` - 2 are dropped, as ELMo does.
    """
    if max_length < 3:
        raise SettingError(
            "max_length is {found}; a word has a beginning, an end and at least one character.",
            found=max_length,
        )
    for sentence in (sentences, *sentences):
        if isinstance(sentence, str) or not isinstance(sentence, Sequence):
            raise SettingError(
                "Expected sentences as lists of words; found {found!r}. Tokenize the text first.",
                found=sentence,
            )
    rows = [[_bytes(word) for word in ("<S>", *words, "</S>")] for words in sentences]
    longest = max((len(row) for row in rows), default=0)
    ids = torch.zeros(len(rows), longest, max_length, dtype=torch.int64)
    for text, row in enumerate(rows):
        for position, word in enumerate(row):
            characters = torch.tensor([WORD_START, *word[: max_length - 2], WORD_END])
            missing = max_length - len(characters)
            ids[text, position] = functional.pad(characters, (0, missing), value=PADDING) + 1
    return ids, ids.any(-1)


def _bytes(word: str) -> list[int]:
    boundaries = {"<S>": [SENTENCE_START], "</S>": [SENTENCE_END]}
    try:
        return boundaries.get(word) or list(word.encode("utf-8"))
    except UnicodeEncodeError:
        raise SettingError(
            "The word {word!r} holds half of a character (a lone surrogate). Decode the text again.",
            word=word,
        ) from None
