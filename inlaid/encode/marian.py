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
"""Where the first says separate_vocabs, what is written has ids of its own: those of the second."""
END = "</s>"
PADDING = "<pad>"
UNKNOWN = "<unk>"


@dataclass(frozen=True)
class Pieces:
    """One text: ids, where each piece stands in it, and which segment it belongs to."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    type_ids: list[int]


def recognizes(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (SOURCE, TARGET, VOCABULARY))


class SentencePieces:
    """Texts are cut by the source model, answers are put together by the target model; ids are the
    vocabularies'."""

    def __init__(self, folder: Path) -> None:
        sentencepiece = need("sentencepiece", extra="sentencepiece")
        names = (SOURCE, TARGET, VOCABULARY, *(SEPARATE if _separate(folder) else ()))
        try:
            self.files = {name: (folder / name).read_bytes() for name in names}
            self.source, self.target = (
                sentencepiece.SentencePieceProcessor(model_proto=self.files[name])
                for name in (SOURCE, TARGET)
            )
            self.vocabulary: dict[str, int] = json.loads(self.files[VOCABULARY])
            self.target_vocabulary: dict[str, int] = json.loads(
                self.files[names[-1]]
            )  # its own, where it has one
            self.words, self.target_words = (
                {id: word for word, id in each.items()} for each in (self.vocabulary, self.target_vocabulary)
            )
            self.unknown = self.vocabulary[UNKNOWN]
            self.end = self.vocabulary[END]
            _ = self.target_vocabulary[END]  # or nothing that is written could end
        except (OSError, RuntimeError, ValueError, KeyError, AttributeError) as error:
            raise FormatError(f"{folder}: {', '.join(names)} are no tokenizer together ({error}).") from None

    def encode_batch(self, texts: Sequence[str]) -> list[Pieces]:
        return [self._encode(text) for text in texts]

    def decode_batch(self, rows: Sequence[Sequence[int]]) -> list[str]:
        marks = (END, PADDING, UNKNOWN)
        return [
            self.target.decode_pieces(
                [word for id in ids if (word := self.target_words.get(id, UNKNOWN)) not in marks]
            )
            for ids in rows
        ]

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


def _separate(folder: Path) -> bool:
    try:
        return json.loads((folder / SEPARATE[0]).read_text("utf-8")).get("separate_vocabs") is True
    except FileNotFoundError:
        return False
    except (OSError, ValueError, AttributeError) as error:
        raise FormatError(
            f"{folder / SEPARATE[0]}: expected a JSON object ({error}). Get the file again."
        ) from None
