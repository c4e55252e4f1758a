"""Marian's tokenizer: two SentencePiece models, and one vocabulary or one for each language."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inlaid.errors import FormatError, need

SOURCE = "source.spm"
TARGET = "target.spm"
VOCABULARY = "vocab.json"
SEPARATE = ("tokenizer_config.json", "target_vocab.json")
"""If the first says separate_vocabs, the target language has its own ids: those of the second."""
END = "</s>"
PADDING = "<pad>"
UNKNOWN = "<unk>"


@dataclass(frozen=True)
class Pieces:
    """One encoded text: ids, character offsets, and segment ids."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    type_ids: list[int]


def recognizes(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (SOURCE, TARGET, VOCABULARY))


class SentencePieces:
    """The source model splits texts into pieces, the target model joins them; vocabularies give the ids."""

    def __init__(self, folder: Path) -> None:
        sentencepiece = need("sentencepiece", extra="sentencepiece")
        names = [SOURCE, TARGET, VOCABULARY]
        if _has_separate_vocabularies(folder):
            names += SEPARATE
        try:
            self.files = {name: (folder / name).read_bytes() for name in names}
            self.source = sentencepiece.SentencePieceProcessor(model_proto=self.files[SOURCE])
            self.target = sentencepiece.SentencePieceProcessor(model_proto=self.files[TARGET])
            self.vocabulary: dict[str, int] = json.loads(self.files[VOCABULARY])
            # the last file: its own vocabulary if it has one, otherwise the shared one
            self.target_vocabulary: dict[str, int] = json.loads(self.files[names[-1]])
            self.words = {id: word for word, id in self.vocabulary.items()}
            self.target_words = {id: word for word, id in self.target_vocabulary.items()}
            self.unknown = self.vocabulary[UNKNOWN]
            self.end = self.vocabulary[END]
            _ = self.target_vocabulary[END]  # without it no translation could end
        except (OSError, RuntimeError, ValueError, KeyError, AttributeError) as error:
            raise FormatError(
                "{folder}: {names} are not a Marian tokenizer ({reason}). Download or copy the folder again.",
                folder=folder,
                names=", ".join(names),
                reason=str(error),
            ) from None

    def encode_batch(self, texts: Sequence[str]) -> list[Pieces]:
        return [self._encode(text) for text in texts]

    def decode_batch(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [self.target.decode_pieces(self._target_pieces(ids)) for ids in rows]

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        return self.vocabulary

    def get_vocab_size(self) -> int:
        return max(self.words) + 1

    def id_to_token(self, id: int) -> str | None:
        return self.words.get(id)

    def _target_pieces(self, ids: Sequence[int]) -> list[str]:
        words = [self.target_words.get(id, UNKNOWN) for id in ids]
        return [word for word in words if word not in (END, PADDING, UNKNOWN)]

    def _encode(self, text: str) -> Pieces:
        found = self.source.encode(text, return_type="offset_mapping")
        ids = [*(self.vocabulary.get(piece, self.unknown) for piece in found["pieces"]), self.end]
        return Pieces(ids, [*(tuple(span) for span in found["offsets"]), (0, 0)], [0] * len(ids))


def _has_separate_vocabularies(folder: Path) -> bool:
    config = folder / SEPARATE[0]
    try:
        return json.loads(config.read_text("utf-8")).get("separate_vocabs") is True
    except FileNotFoundError:
        return False
    except (OSError, ValueError, AttributeError) as error:
        raise FormatError(
            "{path}: expected a JSON object ({reason}). Download or copy the file again.",
            path=config,
            reason=str(error),
        ) from None
