"""BiLM: two LSTM language models, one for each direction, over characters (ELMo).

characters -> convolutions -> highways -> projection -> LSTM layers, forward and backward -> concatenated
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from inlaid.encode.word_characters import characters_of
from inlaid.errors import SettingError
from inlaid.neural.blocks import ACTIVATIONS
from inlaid.neural.config import Config
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.projected_lstm import LSTMState, ProjectedLSTM
from inlaid.neural.stack import check_batch


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
        """(..., character) -> (..., dim)"""
        rows = self.table(characters.flatten(0, -2)).transpose(1, 2)
        x = torch.cat([self.activation(each(rows).amax(-1)) for each in self.convolutions], -1)
        for highway in self.highways:
            x = highway(x)
        return self.project(x).unflatten(0, characters.shape[:-1])


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
        output = self.read(self._words(ids), real, states=states)
        if self.head is not None:
            forward, backward = self.directions(output)
            output.forward_logits = self.head(forward)
            output.backward_logits = self.head(backward)
        return output

    def read(
        self, words: Tensor, mask: Tensor | None = None, *, states: Sequence[LSTMState] = ()
    ) -> BiLMOutput:
        """From the vectors of words (batch, token, dim), with boundaries; logits are not computed."""
        forward = words
        backward = words
        layers = [torch.cat([words, words], -1)]
        final_states = list[LSTMState]()
        for number, lstms in enumerate(zip(self.forward_lstms, self.backward_lstms, strict=True)):
            initial = states[2 * number : 2 * number + 2] if states else (None, None)
            forward = self._dropped(forward)
            backward = self._dropped(backward)
            forward_output, forward_state = lstms[0](forward, mask, initial[0])
            backward_output, backward_state = lstms[1](backward, mask, initial[1])
            # residual connections from the second layer on
            forward = forward_output + forward if number else forward_output
            backward = backward_output + backward if number else backward_output
            layers.append(torch.cat([forward, backward], -1))
            final_states += [forward_state, backward_state]
        return BiLMOutput(tuple(layers), final_states)

    def directions(self, output: BiLMOutput) -> tuple[Tensor, Tensor]:
        """The last layer as the head takes it, forward and backward: (batch, token, dim) each."""
        forward, backward = output.layers[-1].chunk(2, -1)
        return self._dropped(forward), self._dropped(backward)

    def _dropped(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.config.dropout, self.training)

    def word_vectors(self, ids: Tensor) -> Tensor:
        """The vectors of words, before any context: of characters (..., character), or of ids (...)."""
        layer = self.tokens if self.characters is None else self.characters
        assert layer is not None
        return layer(ids)

    def _words(self, ids: Tensor) -> Tensor:
        length = self.config.characters.max_length
        if self.characters is None:
            return self.word_vectors(ids)
        if ids.dim() != 3 or ids.shape[2] != length:
            raise SettingError(
                "Expected ids (text, token, {length} characters); found {found}. Use character_ids().",
                length=length,
                found=tuple(ids.shape),
            )
        return self.word_vectors(ids)


def character_ids(sentences: Sequence[Sequence[str]], max_length: int = 50) -> tuple[Tensor, Tensor]:
    """Character ids (text, token, character) with sentence boundaries, and the mask of real tokens.

    A word is its UTF-8 bytes between word boundaries; bytes past `max_length` - 2 are dropped, as ELMo does.
    """
    for sentence in (sentences, *sentences):
        if isinstance(sentence, str) or not isinstance(sentence, Sequence):
            raise SettingError(
                "Expected sentences as lists of words; found {found!r}. Tokenize the text first.",
                found=sentence,
            )
    rows = [characters_of(["<S>", *words, "</S>"], max_length) for words in sentences]
    longest = max(map(len, rows), default=0)
    ids = torch.zeros(len(rows), longest, max_length, dtype=torch.int64)
    for text, row in zip(ids, rows, strict=True):
        text[: len(row)] = torch.from_numpy(row)
    return ids, ids.any(-1)
