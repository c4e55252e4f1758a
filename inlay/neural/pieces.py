"""Pieces: Marian's tokenizer, two SentencePiece models and one vocabulary, behind the interface a Model uses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inlay.errors import FormatError, need

SOURCE, TARGET, VOCABULARY = "source.spm", "target.spm", "vocab.json"
END, PADDING, UNKNOWN = "</s>", "<pad>", "<unk>"


@dataclass(frozen=True)
class Pieces:
    """One text: ids, where each piece stands in it, and which segment it belongs to."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    type_ids: list[int]


def recognizes(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (SOURCE, TARGET, VOCABULARY))


class SentencePieces:
    """Texts are cut by the source model, answers are put together by the target model; ids are the vocabulary's."""

    def __init__(self, folder: Path) -> None:
        sentencepiece = need("sentencepiece", extra="sentencepiece")
        self.files = {name: (folder / name).read_bytes() for name in (SOURCE, TARGET, VOCABULARY)}
        try:
            self.source, self.target = (sentencepiece.SentencePieceProcessor(model_proto=self.files[name]) for name in (SOURCE, TARGET))
            self.vocabulary: dict[str, int] = json.loads(self.files[VOCABULARY])
            self.words = {id: word for word, id in self.vocabulary.items()}
            self.unknown, self.end = self.vocabulary[UNKNOWN], self.vocabulary[END]
        except (RuntimeError, ValueError, KeyError, AttributeError) as error:
            raise FormatError(f"{folder}: {SOURCE}, {TARGET} and {VOCABULARY} are no tokenizer together ({error}).") from None

    def encode_batch(self, texts: Sequence[str]) -> list[Pieces]:
        return [self._encode(text) for text in texts]

    def decode_batch(self, rows: Sequence[Sequence[int]]) -> list[str]:
        marks = (END, PADDING, UNKNOWN)
        return [self.target.decode_pieces([word for id in ids if (word := self.words.get(id, UNKNOWN)) not in marks]) for ids in rows]

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        return self.vocabulary

    def get_vocab_size(self) -> int:
        return max(self.words) + 1

    def id_to_token(self, id: int) -> str | None:
        return self.words.get(id)

    def _encode(self, text: str) -> Pieces:
        found = self.source.encode(text, return_type="offset_mapping")
        ids = [*(self.vocabulary.get(piece, self.unknown) for piece in found["pieces"]), self.end]
        return Pieces(ids, [*(tuple(span) for span in found["offsets"]), (0, 0)], [0] * len(ids))
