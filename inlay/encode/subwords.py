"""BPE, WordPiece, Unigram, trained here or loaded from the files people have."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from inlay.encode import sentencepiece
from inlay.encode.sentencepiece import SPACE
from inlay.encode.tokenizers import Token
from inlay.errors import FormatError, InlayError, SettingError, SourceError, UnknownName, UnknownWord, did_you_mean, need
from inlay.report import Report, counted, silent

UNKNOWN = "[UNK]"
SPECIAL = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
BATCH = 16384
"""Texts encoded at once: enough to keep every core busy, few enough that their encodings stay small."""
THREADS = 16
"""SentencePiece adds its sums up thread by thread, so this number, not the number of cores, is part of the result."""


@dataclass(frozen=True, eq=False, repr=False)
class Subwords:
    """A tokenizer whose words are whole words and parts of words, each with an id.

    Text is text: where it holds the name of a special token ("[MASK]"), that is read as any other text, unless asked.
    Nothing is added, cut or padded, whatever the file said that it came from.

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

        Words that are bytes of one character all stand at that character. The "▁" that SentencePiece sets before a
        text stands nowhere.
        """
        with _reading(text):
            encoding = self.engine.encode(text, add_special_tokens=False)
        tokens = [Token(self.vocabulary[id], *place) for id, place in zip(encoding.ids, encoding.offsets, strict=True)]
        if len(tokens) > 1 and tokens[0].text == SPACE and tokens[1].start == 0:
            tokens[0] = Token(SPACE, 0, 0)
        return tokens

    def words(self, text: str) -> list[str]:
        return [self.vocabulary[id] for id in self.ids(text)]

    def ids(self, text: str, *, special: bool = False) -> list[int]:
        """With `special`, the name of a special token in the text becomes that token."""
        with _reading(text):
            return (self._engine_that_reads_special if special else self.engine).encode(text, add_special_tokens=False).ids

    def ids_of(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, on all cores."""
        found: list[list[int]] = []
        for start in range(0, len(texts), BATCH):
            batch = list(texts[start : start + BATCH])
            with _reading(*batch):
                found += [encoding.ids for encoding in self.engine.encode_batch_fast(batch, add_special_tokens=False)]
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; exactly the one they came from, where the tokenizer loses nothing (bpe, unigram)."""
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
            raise FormatError(f"The tokenizer has {len(known):,} words, but ids up to {size - 1:,}: its file is damaged. Get it again.")
        words = [f"<id {id}>" for id in range(size)]
        for word, id in sorted(known.items()):
            if words[id] != f"<id {id}>":
                raise FormatError(f"The words '{words[id]}' and '{word}' both have the id {id}: the file is damaged. Get it again.")
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
        return Subwords.from_json, (self.to_json(),)  # the engine's own way forgets how it reads special tokens


def engine_from(text: str) -> Engine:
    """The engine of a tokenizer.json; the library reads scores of many digits a hair off, so unigram's are read here."""
    engine = Engine.from_str(text)
    if isinstance(engine.model, models.Unigram):
        model = json.loads(text)["model"]
        words = [(word, score) for word, score in model["vocab"]]
        engine.model = models.Unigram(words, model["unk_id"], model.get("byte_fallback", False))
    return engine


# Training


def train(
    kind: str, sentences: Iterable[str], *, size: int = 8000, special: tuple[str, ...] = SPECIAL, report: Report = silent
) -> Subwords:
    """Learn `size` words (special tokens included) of the kind bpe, wordpiece or unigram.

    The same text gives the same tokenizer, whatever the number of threads. Nothing is lower-cased or normalised here.
    """
    if kind not in TRAINERS:
        hint = did_you_mean(kind, TRAINERS) or f" There are: {', '.join(TRAINERS)}."
        raise UnknownName(f"No subword tokenizer is called '{kind}'.{hint}")
    _check_special(kind, special)
    text = _listed(sentences, report)
    with refusing("The subword library gave up on this text", "Try another kind, or find the sentence it cannot take."):
        trained = Subwords(TRAINERS[kind](text, size, special))
    if len(trained.vocabulary) < size:
        raise _too_little_text(size, len(trained.vocabulary))
    return trained


def _check_special(kind: str, special: tuple[str, ...]) -> None:
    if len(set(special)) < len(special) or not all(name.strip() for name in special):
        raise SettingError(f"special is {special}; expected names that differ and are not empty.")
    if kind != "bpe" and UNKNOWN not in special:
        raise SettingError(f"special is {special}, without {UNKNOWN}, which {kind} needs for what it does not know. Add it.")


def _listed(sentences: Iterable[str], report: Report) -> list[str]:
    text = list(counted(sentences, "reading text for subwords", unit="sentences", report=report))
    if not any(sentence.strip() for sentence in text):
        raise SourceError(f"The text is empty ({len(text)} sentences): subwords are learned from text. Give some.")
    for sentence in text:
        _refuse_surrogates(sentence)
    return text


def _train_bpe(text: list[str], size: int, special: tuple[str, ...]) -> Engine:
    """Bytes, and pairs of words merged in the order of their counts: any text can be written, and read back."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    if size < len(special) + len(alphabet):
        raise SettingError(f"size is {size}; bpe needs {len(alphabet)} bytes and {len(special)} special tokens, so at least that many.")
    engine = byte_level(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=size, min_frequency=2, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    engine.train_from_iterator(text, trainer)
    return engine


def _train_wordpiece(text: list[str], size: int, special: tuple[str, ...]) -> Engine:
    """BERT's: words between blanks and punctuation, every Chinese character apart; "##" where a word goes on."""
    seen = _word_level(text)
    inside = sorted({"##" + character for word in seen for character in word[1:]})
    least = len({character for word in seen for character in word} | set(special)) + len(inside)
    if size < least:
        raise SettingError(
            f"size is {size}, but the characters of this text and {len(special)} special tokens are {least:,} words already. "
            f"Raise size above that, or take bpe, which needs {len(special) + 256}."
        )
    engine = bert_like(models.WordPiece(unk_token=UNKNOWN), lower=False, clean=False)
    # The library numbers "##x" as it meets them in a hash table, and breaks ties by number: naming them first fixes both.
    names = [*special, *(name for name in inside if name not in special)]
    trainer = trainers.WordPieceTrainer(vocab_size=size, min_frequency=2, special_tokens=names, show_progress=False)
    engine.train_from_iterator(text, trainer)
    engine = bert_like(models.WordPiece(engine.get_vocab(), unk_token=UNKNOWN), lower=False, clean=False)
    engine.add_special_tokens(list(special))
    return engine


def _word_level(text: list[str]) -> list[str]:
    """The distinct words that WordPiece is to split."""
    counter = bert_like(models.WordLevel(unk_token=UNKNOWN), lower=False, clean=False)
    counter.train_from_iterator(text, trainers.WordLevelTrainer(vocab_size=2**31, min_frequency=0, show_progress=False))
    return list(counter.get_vocab())


def _train_unigram(text: list[str], size: int, special: tuple[str, ...]) -> Engine:
    """SentencePiece's, by SentencePiece itself: Hugging Face's trainer gives other scores at each run, and takes longer.

    What was too rare to learn is written in bytes, so any text can be written and read back; only "▁" comes back as a space.
    """
    library = need("sentencepiece", extra="sentencepiece")
    written = io.BytesIO()
    try:
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(text), model_writer=written, model_type="unigram", vocab_size=size,
            unk_id=0, unk_piece=UNKNOWN, bos_id=-1, eos_id=-1, pad_id=-1, control_symbols=[name for name in special if name != UNKNOWN],
            byte_fallback=True, required_chars="".join(sorted({*"<0x123456789ABCDEF>", *"".join(special)} - {" "})),
            normalization_rule_name="identity", remove_extra_whitespaces=False,
            max_sentence_length=2**30, num_threads=THREADS, minloglevel=3,
        )  # fmt: skip
    except (RuntimeError, OSError) as error:
        raise _sentencepiece_refusal(size, str(error)) from None
    model = sentencepiece.parsed(written.getvalue(), Path("the trained model"))
    order = {name: rank for rank, name in enumerate(special)}
    pieces = sorted(model.pieces, key=lambda piece: order.get(piece.piece, len(order)))
    del model.pieces[:]
    model.pieces.extend(pieces)
    return sentencepiece.engine_of(model, Path("the trained model"))


def _sentencepiece_refusal(size: int, said: str) -> InlayError:
    if most := re.search(r"<= (\d+)", said):
        return _too_little_text(size, int(most[1]))
    if least := re.search(r"(\d+) vs (\d+)", said):
        return SettingError(
            f"size is {size}, but the characters of this text, 256 bytes and the special tokens are more "
            f"({least[0].replace('vs', 'where there are')}). Raise size, or take bpe, which needs fewer."
        )
    return SourceError(f"SentencePiece cannot learn from this text: {said}")


def _too_little_text(size: int, found: int) -> SourceError:
    return SourceError(f"The text gives {found:,} subwords, and size asks for {size:,}. Bring more text, or lower size to {found}.")


def byte_level(model: models.BPE, *, prefix_space: bool = False) -> Engine:
    engine = Engine(model)
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    engine.decoder = decoders.ByteLevel()
    return engine


def bert_like(model: Any, *, lower: bool, clean: bool, chinese: bool = True, accents: bool | None = None) -> Engine:
    """`accents` None: taken off where text is lower-cased."""
    engine = Engine(model)
    engine.normalizer = normalizers.BertNormalizer(clean_text=clean, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lower)
    engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    engine.decoder = decoders.WordPiece()
    return engine


TRAINERS: Mapping[str, Callable[[list[str], int, tuple[str, ...]], Engine]] = {
    "bpe": _train_bpe,
    "wordpiece": _train_wordpiece,
    "unigram": _train_unigram,
}


@contextmanager
def refusing(found: str, advice: str) -> Iterator[None]:
    """Turn whatever the libraries raise, a Rust panic (which is no Exception) included, into a FormatError."""
    try:
        yield
    except (InlayError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
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
            _refuse_surrogates(text)
        raise


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        place = text[max(0, error.start - 20) : error.start]
        raise SourceError(f"A text holds half a character (a lone surrogate) after '{place}'. Read the file as UTF-8 again.") from None
