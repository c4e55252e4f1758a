"""Subwords: a tokenizer whose words are whole words and parts of words; BPE, WordPiece, Unigram."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, normalizers, pre_tokenizers

from inlaid.encode.sentencepiece import SPACE
from inlaid.encode.tokenizers import Token
from inlaid.errors import FormatError, InlaidError, SourceError, UnknownWord

UNKNOWN = "[UNK]"
SPECIAL = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
BATCH = 16384
"""Texts encoded at once: enough to keep every core busy, few enough that their encodings stay small."""


@dataclass(frozen=True, eq=False, repr=False)
class Subwords:
    """A tokenizer whose words are whole words and parts of words, each with an id.

    Text is text: where it holds the name of a special token ("[MASK]"), that is read as any other text,
    unless asked. Nothing is added, cut or padded, whatever the file said that it came from.

    >>> gpt2 = load(Path("gpt2"))
    >>> gpt2.words("Hello world"), gpt2.ids("Hello world")
    (['Hello', 'Ġworld'], [15496, 995])
    """

    engine: Engine

    def __post_init__(self) -> None:
        self.engine.no_truncation()
        self.engine.no_padding()
        self.engine.encode_special_tokens = True  # which means: as plain text
        if getattr(self.engine.model, "dropout", None):
            self.engine.model.dropout = None  # the same text has the same ids
        _ = self.vocabulary  # a file whose ids make no sense is refused now

    def tokenize(self, text: str) -> list[Token]:
        """Words of the vocabulary, and which characters each stands for.

        Words that are bytes of one character all stand at that character. The "▁" that SentencePiece sets
        before a text stands nowhere.
        """
        with _reading(text):
            encoding = self.engine.encode(text, add_special_tokens=False)
        tokens = [
            Token(self.vocabulary[id], *place)
            for id, place in zip(encoding.ids, encoding.offsets, strict=True)
        ]
        if len(tokens) > 1 and tokens[0].text == SPACE and tokens[1].start == 0:
            tokens[0] = Token(SPACE, 0, 0)
        return tokens

    def words(self, text: str) -> list[str]:
        return [self.vocabulary[id] for id in self.ids(text)]

    def ids(self, text: str, *, special: bool = False) -> list[int]:
        """With `special`, the name of a special token in the text becomes that token."""
        with _reading(text):
            return (
                (self._engine_that_reads_special if special else self.engine)
                .encode(text, add_special_tokens=False)
                .ids
            )

    def ids_of(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, on all cores."""
        found: list[list[int]] = []
        for start in range(0, len(texts), BATCH):
            batch = list(texts[start : start + BATCH])
            with _reading(*batch):
                found += [
                    encoding.ids
                    for encoding in self.engine.encode_batch_fast(batch, add_special_tokens=False)
                ]
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; exactly the one they came from, where the tokenizer loses nothing (bpe,
        unigram)."""
        wrong = next((id for id in ids if not 0 <= id < len(self.vocabulary)), None)
        if wrong is not None:
            raise UnknownWord(f"No word has the id {wrong}: ids go from 0 to {len(self.vocabulary) - 1}.")
        with _reading():
            return self.engine.decode(list(ids), skip_special_tokens=False)

    @cached_property
    def vocabulary(self) -> list[str]:
        """All words in the order of their ids; an id that no word has shows as "<id 7>"."""
        known = self.engine.get_vocab()
        if not known:
            raise FormatError("The tokenizer has no words. Train it, or load one that was trained.")
        size = max(known.values()) + 1
        if size > 2 * len(known):
            raise FormatError(
                f"The tokenizer has {len(known):,} words, but ids up to {size - 1:,}: its file is damaged. Get it again."
            )
        words = [f"<id {id}>" for id in range(size)]
        for word, id in sorted(known.items()):
            if words[id] != f"<id {id}>":
                raise FormatError(
                    f"The words '{words[id]}' and '{word}' both have the id {id}: the file is damaged. Get it again."
                )
            words[id] = word
        return words

    @cached_property
    def special(self) -> Mapping[str, int]:
        """Tokens that stand for no text, such as "[MASK]", and their ids."""
        added = sorted(self.engine.get_added_tokens_decoder().items())
        return {token.content: id for id, token in added if token.special}

    def to_json(self) -> str:
        """Everything it is, as Hugging Face's tokenizer.json; `from_json` makes it again."""
        return self.engine.to_str()

    @classmethod
    def from_json(cls, text: str) -> Subwords:
        with refusing("This is not a tokenizer.json", "Give the text that `to_json` returned."):
            return cls(engine_from(text))

    @cached_property
    def _engine_that_reads_special(self) -> Engine:
        return engine_from(self.to_json())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subwords) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"Subwords({type(self.engine.model).__name__}, {len(self.vocabulary):,} words)"

    def __reduce__(self) -> tuple[Callable[[str], Subwords], tuple[str]]:
        return Subwords.from_json, (
            self.to_json(),
        )  # the engine's own way forgets how it reads special tokens


def engine_from(text: str) -> Engine:
    """The engine of a tokenizer.json; the library reads scores of many digits a hair off, so unigram's are
    read here."""
    engine = Engine.from_str(text)
    if isinstance(engine.model, models.Unigram):
        model = json.loads(text)["model"]
        words = [(word, score) for word, score in model["vocab"]]
        engine.model = models.Unigram(words, model["unk_id"], model.get("byte_fallback", False))
    return engine


def byte_level(model: models.BPE, *, prefix_space: bool = False) -> Engine:
    engine = Engine(model)
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    engine.decoder = decoders.ByteLevel()
    return engine


def bert_like(
    model: Any, *, lower: bool, clean: bool, chinese: bool = True, accents: bool | None = None
) -> Engine:
    """`accents` None: taken off where text is lower-cased."""
    engine = Engine(model)
    engine.normalizer = normalizers.BertNormalizer(
        clean_text=clean, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lower
    )
    engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    engine.decoder = decoders.WordPiece()
    return engine


@contextmanager
def refusing(found: str, advice: str) -> Iterator[None]:
    """Turn whatever the libraries raise, a Rust panic (which is no Exception) included, into a
    FormatError."""
    try:
        yield
    except (InlaidError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise FormatError(f"{found}: {error}. {advice}") from None


@contextmanager
def _reading(*texts: str) -> Iterator[None]:
    """Say which text is no Unicode; the library says only that it is no text."""
    try:
        with refusing("The tokenizer cannot read a text", "Its file may be damaged: get it again."):
            yield
    except FormatError:
        for text in texts:
            refuse_surrogates(text)
        raise


def refuse_surrogates(text: str) -> None:
    """Raise SourceError for a text that no UTF-8 can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        place = text[max(0, error.start - 20) : error.start]
        raise SourceError(
            f"A text holds half a character (a lone surrogate) after '{place}'. Read the file as UTF-8 again."
        ) from None
