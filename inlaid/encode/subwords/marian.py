"""Marian's tokenizer: two SentencePiece models, and one vocabulary or one for each language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inlaid.encode.subwords.tokenizer import check_ids
from inlaid.errors import FormatError, need
from inlaid.untrusted import read_json_object, reading_file

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
        with reading_file(folder / SOURCE, "SentencePiece"):
            self.source = sentencepiece.SentencePieceProcessor(model_proto=(folder / SOURCE).read_bytes())
        with reading_file(folder / TARGET, "SentencePiece"):
            self.target = sentencepiece.SentencePieceProcessor(model_proto=(folder / TARGET).read_bytes())
        self.vocabulary = _vocabulary(folder / VOCABULARY)
        # the last file: its own vocabulary if it has one, otherwise the shared one
        self.target_vocabulary = _vocabulary(folder / names[-1])
        self.words = {id: word for word, id in self.vocabulary.items()}
        self.target_words = {id: word for word, id in self.target_vocabulary.items()}
        self.unknown = self.vocabulary[UNKNOWN]
        self.end = self.vocabulary[END]
        self.target_end = self.target_vocabulary[END]
        self.files = {name: (folder / name).read_bytes() for name in names}

    def encode_batch(self, texts: Sequence[str]) -> list[Pieces]:
        return [self._encode(text) for text in texts]

    def encode_target(self, text: str) -> list[int]:
        """The ids of a text of the target language, and the end."""
        words = self.target_vocabulary
        pieces = self.target.encode(text, out_type=str)
        return [*(words.get(piece, words[UNKNOWN]) for piece in pieces), words[END]]

    def ids_of(self, texts: Sequence[str], *, target: bool) -> list[list[int]]:
        """The ids of texts of one side, without the end."""
        engine = self.target if target else self.source
        words = self.target_vocabulary if target else self.vocabulary
        rows = engine.encode(list(texts), out_type=str)
        return [[words.get(piece, words[UNKNOWN]) for piece in row] for row in rows]

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


def _vocabulary(path: Path) -> dict[str, int]:
    """Word -> id. Without the end no translation could end."""
    words = read_json_object(path)
    check_ids(path, words)
    for word in (UNKNOWN, END):
        if word not in words:
            raise FormatError(
                "{path}: not a vocabulary of Marian: it lacks the word {word}. Download or copy the file "
                "again.",
                path=path,
                word=word,
            )
    return words


def _has_separate_vocabularies(folder: Path) -> bool:
    config = folder / SEPARATE[0]
    return config.is_file() and read_json_object(config).get("separate_vocabs") is True
