"""Subwords: a tokenizer with a fixed vocabulary of words and parts of words; BPE, WordPiece, Unigram."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, normalizers, pre_tokenizers

from inlaid.encode.subwords.forking import prepare_for_forks
from inlaid.encode.subwords.sentencepiece import SPACE
from inlaid.encode.subwords.spelling import BYTE_LEVEL, WORDPIECE, follows_space, readable
from inlaid.encode.tokenizers import Token
from inlaid.errors import FormatError, OutOfVocabulary, SourceError
from inlaid.untrusted import library_errors, parse_json

prepare_for_forks()

UNKNOWN = "[UNK]"
SPECIAL = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
MAX_ID = (1 << 31) - 1
BATCH = 16384
"""Texts encoded at once: enough to keep every core busy, few enough to take little memory."""


@dataclass(frozen=True, eq=False, repr=False)
class Subwords:
    """A tokenizer with a fixed vocabulary of words and parts of words, each with an id.

    Words are written so that people can read them (see `spelling`): byte-level tokens as the text they stand
    for. The name of a special token in a text ("[MASK]") is read as plain text by default. Nothing is added,
    truncated or padded, whatever the tokenizer file says.

    >>> gpt2 = load(Path("gpt2"))
    >>> gpt2.words("Hello world"), gpt2.ids("Hello world")
    (['Hello', 'Ġworld'], [15496, 995])
    """

    engine: Engine

    def __post_init__(self) -> None:
        self.engine.no_truncation()
        self.engine.no_padding()
        self.engine.encode_special_tokens = True  # that is: as plain text
        if getattr(self.engine.model, "dropout", None):
            self.engine.model.dropout = None  # the same text always gets the same ids
        _ = self.vocabulary  # refuses a file with invalid ids now

    def tokenize(self, text: str) -> list[Token]:
        """The tokens and their character offsets.

        Tokens that are bytes of one character all have the offsets of that character, and the "▁" that
        SentencePiece puts before a text those of the first character.
        """
        with _naming_bad_text(text):
            encoding = self.engine.encode(text, add_special_tokens=False)
        spans = zip(encoding.ids, encoding.offsets, strict=True)
        return [Token(self.vocabulary[id], start, end) for id, (start, end) in spans]

    def words(self, text: str) -> list[str]:
        return [self.vocabulary[id] for id in self.ids(text)]

    def pieces(self, word: str) -> list[str]:
        """The tokens of a word as it is written in running text, so after a space in scripts that have them;
        none for a word with characters that the tokenizer does not know."""
        text = f" {word}" if self.mark == BYTE_LEVEL and follows_space(word) else word
        found = [piece for piece in self.words(text) if piece != self.mark]
        return [] if any(piece in (UNKNOWN, "<unk>") for piece in found) else found

    def ids(self, text: str, *, special: bool = False) -> list[int]:
        """With `special`, the name of a special token in the text becomes that token."""
        engine = self._engine_with_special if special else self.engine
        with _naming_bad_text(text):
            return engine.encode(text, add_special_tokens=False).ids

    def ids_of(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, on all cores."""
        found: list[list[int]] = []
        for start in range(0, len(texts), BATCH):
            batch = list(texts[start : start + BATCH])
            with _naming_bad_text(*batch):
                encodings = self.engine.encode_batch_fast(batch, add_special_tokens=False)
            found += [encoding.ids for encoding in encodings]
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; for lossless tokenizers (bpe, unigram) exactly the text they were made from."""
        wrong = next((id for id in ids if not 0 <= id < len(self.vocabulary)), None)
        if wrong is not None:
            raise OutOfVocabulary(
                "No word has the id {id}: ids go from 0 to {last}.", id=wrong, last=len(self.vocabulary) - 1
            )
        with _naming_bad_text():
            return self.engine.decode(list(ids), skip_special_tokens=False)

    @cached_property
    def vocabulary(self) -> list[str]:
        """All words in the order of their ids, readable; an id without a word is shown as "<id 7>"."""
        known = self.engine.get_vocab()
        if not known:
            raise FormatError("The tokenizer has an empty vocabulary. Train it, or load a trained one.")
        size = max(known.values()) + 1
        if size > 2 * len(known):
            raise FormatError(
                "The tokenizer has {words:,} words, but ids up to {last:,}: the file is damaged. "
                "Download or copy it again.",
                words=len(known),
                last=size - 1,
            )
        words = [f"<id {id}>" for id in range(size)]
        for word, id in sorted(known.items()):
            if words[id] != f"<id {id}>":
                raise FormatError(
                    "The words '{first}' and '{second}' both have the id {id}: the file is damaged. "
                    "Download or copy it again.",
                    first=words[id],
                    second=word,
                    id=id,
                )
            words[id] = word
        return readable(words) if self.mark == BYTE_LEVEL else words

    @cached_property
    def mark(self) -> str:
        """What the vocabulary writes before a word (Ġ, ▁) or before a piece that continues one (##)."""
        if isinstance(self.engine.model, models.WordPiece):
            return WORDPIECE if self.engine.model.continuing_subword_prefix == WORDPIECE else ""
        parts: list[Any] = [self.engine.decoder, self.engine.pre_tokenizer]
        state = b"".join(part.__getstate__() for part in parts if part is not None).decode()
        if '"ByteLevel"' in state:
            return BYTE_LEVEL
        return SPACE if SPACE in state else ""

    @cached_property
    def special(self) -> Mapping[str, int]:
        """Special tokens, such as "[MASK]", and their ids."""
        added = sorted(self.engine.get_added_tokens_decoder().items())
        return {token.content: id for id, token in added if token.special}

    def to_json(self) -> str:
        """The whole tokenizer as Hugging Face's tokenizer.json; `from_json` restores it."""
        return self.engine.to_str()

    @classmethod
    def from_json(cls, text: str) -> Subwords:
        def failed(reason: str) -> FormatError:
            return FormatError(
                "This is not a tokenizer.json: {reason}. Pass the text that `to_json` returned.",
                reason=reason,
            )

        with library_errors(failed):
            return cls(engine_from(text))

    @cached_property
    def _engine_with_special(self) -> Engine:
        return engine_from(self.to_json())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subwords) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"Subwords({type(self.engine.model).__name__}, {len(self.vocabulary):,} words)"

    def __reduce__(self) -> tuple[Callable[[str], Subwords], tuple[str]]:
        # pickling the engine itself would lose how it reads special tokens
        return Subwords.from_json, (self.to_json(),)


def engine_from(text: str) -> Engine:
    """The engine of a tokenizer.json. The library rounds long scores, so those of unigram are read here."""
    engine = Engine.from_str(text)
    if isinstance(engine.model, models.Unigram):
        model = parse_json(text)["model"]
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
    """BERT's normalizer and pre-tokenizer. `accents` None: strip accents if text is lower-cased."""
    engine = Engine(model)
    engine.normalizer = normalizers.BertNormalizer(
        clean_text=clean, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lower
    )
    engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    engine.decoder = decoders.WordPiece()
    return engine


def check_ids(path: Path, words: Mapping[str, Any]) -> None:
    """Raise FormatError unless each word is text and its id a whole number from 0 on."""
    wrong = {
        word: id
        for word, id in words.items()
        if type(word) is not str or type(id) is not int or not 0 <= id <= MAX_ID
    }
    if wrong or not words:
        raise FormatError(
            "{path}: expected words, each with an id from 0 to {last:,}; found {found!r}. "
            "Download or copy the file again.",
            path=path,
            last=MAX_ID,
            found=dict([*wrong.items()][:1]),
        )


@contextmanager
def _naming_bad_text(*texts: str) -> Iterator[None]:
    """Name the text that is not valid Unicode; the library only says that there is one."""

    def failed(reason: str) -> FormatError:
        return FormatError(
            "The tokenizer cannot encode a text: {reason}. "
            "If its file is damaged, download or copy it again.",
            reason=reason,
        )

    try:
        with library_errors(failed):
            yield
    except FormatError:
        for text in texts:
            refuse_surrogates(text)
        raise


def refuse_surrogates(text: str) -> None:
    """Raise SourceError for a text that cannot be encoded as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SourceError(
            "A text holds half a character (a lone surrogate) after '{before}'. "
            "Read the file as UTF-8 again.",
            before=text[max(0, error.start - 20) : error.start],
        ) from None
