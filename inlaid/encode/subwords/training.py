"""BPE, WordPiece and Unigram, trained on text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tokenizers import Tokenizer as Engine
from tokenizers import models, pre_tokenizers, trainers

from inlaid.encode.subwords import sentencepiece
from inlaid.encode.subwords.tokenizer import (
    SPECIAL,
    UNKNOWN,
    Subwords,
    bert_like,
    byte_level,
    library_errors,
    refuse_surrogates,
)
from inlaid.errors import FormatError, InlaidError, SettingError, SourceError, UnknownName, did_you_mean, need
from inlaid.messages import Listed, Message
from inlaid.report import Note, Report, counted, silent

SIZE = 8000
"""Words of a tokenizer where none are asked for, at most."""
LONGEST_WORD = 1000
"""Characters of a word that subwords are learned from in one piece; trainers take the square of them."""
THREADS = 16
"""SentencePiece sums per thread, so the result depends on this number, not on the number of cores."""

LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD}}}(?=\S)")
"""The part of a longer one after which a space is put, to learn from."""


class TooLittleText(SourceError):
    """The text gives fewer subwords than were asked for: `found`."""


def learn(
    kind: str,
    sentences: Iterable[str],
    *,
    size: int | None = None,
    special: tuple[str, ...] = SPECIAL,
    report: Report = silent,
) -> Subwords:
    """Train a tokenizer of the kind bpe, wordpiece or unigram with `size` words, special tokens included;
    None: 8,000, or as many as the text has, with a note.

    The same text gives the same tokenizer for any number of threads. Text is not lower-cased or normalized
    here.
    """
    if kind not in TRAINERS:
        hint = did_you_mean(kind, TRAINERS) or Message(" There are: {names}.", names=Listed(TRAINERS))
        raise UnknownName("No subword tokenizer is called '{kind}'.{hint}", kind=kind, hint=hint)
    _check_special(kind, special)
    text = _sentence_list(sentences, report)
    with library_errors(_cannot_train):
        if size is None:
            return _as_many_as_there_are(kind, text, special, report)
        trained = Subwords(TRAINERS[kind](text, size, special))
    if len(trained.vocabulary) < size:
        raise _too_little_text(size, len(trained.vocabulary))
    return trained


def _as_many_as_there_are(kind: str, text: list[str], special: tuple[str, ...], report: Report) -> Subwords:
    """A tokenizer with as many words as the text has, up to SIZE."""
    try:
        trained = Subwords(TRAINERS[kind](text, SIZE, special))
    except TooLittleText as refused:  # SentencePiece names the number
        trained = Subwords(TRAINERS[kind](text, refused.values["found"], special))
    found = len(trained.vocabulary)
    if found < SIZE:
        report(
            Note(
                "The vocabulary has {found:,} subwords, as the text gives no more; the default is up to "
                "{size:,}.",
                found=found,
                size=SIZE,
            )
        )
    return trained


def _cannot_train(reason: str) -> FormatError:
    return FormatError(
        "The subword library cannot be trained on this text: {reason}. "
        "Try another kind, or find the sentence that causes it.",
        reason=reason,
    )


def _check_special(kind: str, special: tuple[str, ...]) -> None:
    if len(set(special)) < len(special) or not all(name.strip() for name in special):
        raise SettingError(
            "special is {special}; expected names that are distinct and not empty.", special=special
        )
    if kind != "bpe" and UNKNOWN not in special:
        raise SettingError(
            "special is {special}, without {unknown}, which {kind} needs for unknown characters. Add it.",
            special=special,
            unknown=UNKNOWN,
            kind=kind,
        )


def _sentence_list(sentences: Iterable[str], report: Report) -> list[str]:
    text = list(counted(sentences, "reading text for subwords", unit="sentences", report=report))
    if not any(sentence.strip() for sentence in text):
        raise SourceError(
            "The text is empty ({count} sentences), and subwords are learned from text. Add some.",
            count=len(text),
        )
    for sentence in text:
        refuse_surrogates(sentence)
    if any(map(LONG_WORD.search, text)):
        return [LONG_WORD.sub(r"\g<0> ", sentence) for sentence in text]
    return text


def _train_bpe(text: list[str], size: int, special: tuple[str, ...]) -> Engine:
    """Byte-level BPE: pairs are merged in the order of their counts. Any text can be encoded and decoded."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    if size < len(special) + len(alphabet):
        raise SettingError(
            "subwords is {size}, but bpe needs {bytes} bytes and {special} special tokens: at least {least}. "
            "Raise it.",
            size=size,
            bytes=len(alphabet),
            special=len(special),
            least=len(special) + len(alphabet),
        )
    engine = byte_level(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=list(special),
        initial_alphabet=alphabet,
        show_progress=False,
    )
    engine.train_from_iterator(text, trainer)
    return engine


def _train_wordpiece(text: list[str], size: int, special: tuple[str, ...]) -> Engine:
    """BERT's kind: words end at spaces and punctuation, Chinese characters are words, "##" continues one."""
    seen = _distinct_words(text)
    inside = sorted({"##" + character for word in seen for character in word[1:]})
    least = len({character for word in seen for character in word} | set(special)) + len(inside)
    if size < least:
        raise SettingError(
            "subwords is {size}, but the characters of this text and {special} special tokens are already "
            "{least:,} words. Raise it above that, or use bpe, which needs {bpe_least}.",
            size=size,
            special=len(special),
            least=least,
            bpe_least=len(special) + 256,
        )
    engine = bert_like(models.WordPiece(unk_token=UNKNOWN), lower=False, clean=False)
    # The library numbers "##x" in the random order of a hash table and breaks ties by number. Naming them as
    # special tokens first makes both deterministic.
    names = [*special, *(name for name in inside if name not in special)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, special_tokens=names, show_progress=False
    )
    engine.train_from_iterator(text, trainer)
    engine = bert_like(models.WordPiece(engine.get_vocab(), unk_token=UNKNOWN), lower=False, clean=False)
    engine.add_special_tokens(list(special))
    return engine


def _distinct_words(text: list[str]) -> list[str]:
    """The distinct words that WordPiece splits."""
    counter = bert_like(models.WordLevel(unk_token=UNKNOWN), lower=False, clean=False)
    counter.train_from_iterator(
        text, trainers.WordLevelTrainer(vocab_size=2**31, min_frequency=0, show_progress=False)
    )
    return list(counter.get_vocab())


def _train_unigram(text: list[str], size: int, special: tuple[str, ...]) -> Engine:
    """SentencePiece's kind, trained by SentencePiece: Hugging Face's trainer is slower, and its scores differ
    from run to run.

    Rare characters are encoded as bytes, so any text can be encoded and decoded; only "▁" becomes a space.
    """
    library = need("sentencepiece", extra="sentencepiece")
    written = io.BytesIO()
    try:
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(text),
            model_writer=written,
            model_type="unigram",
            vocab_size=size,
            unk_id=0,
            unk_piece=UNKNOWN,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            control_symbols=[name for name in special if name != UNKNOWN],
            byte_fallback=True,
            required_chars="".join(sorted({*"<0x123456789ABCDEF>", *"".join(special)} - {" "})),
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            max_sentence_length=2**30,
            num_threads=THREADS,
            minloglevel=3,
        )
    except (RuntimeError, OSError) as error:
        raise _sentencepiece_refusal(size, str(error)) from None
    model = sentencepiece.parsed(written.getvalue(), Path("the trained model"))
    order = {name: rank for rank, name in enumerate(special)}
    pieces = sorted(model.pieces, key=lambda piece: order.get(piece.piece, len(order)))
    del model.pieces[:]
    model.pieces.extend(pieces)
    return sentencepiece.engine_of(model, Path("the trained model"))


def _sentencepiece_refusal(size: int, reason: str) -> InlaidError:
    if most := re.search(r"<= (\d+)", reason):
        return _too_little_text(size, int(most[1]))
    if counts := re.search(r"(\d+) vs (\d+)", reason):
        return SettingError(
            "subwords is {size}, but the characters of this text, 256 bytes and the special tokens need "
            "{needed:,}. Raise it, or use bpe, which needs fewer.",
            size=size,
            needed=int(counts[2]),
        )
    return SourceError("SentencePiece cannot be trained on this text: {reason}.", reason=reason.strip())


def _too_little_text(size: int, found: int) -> TooLittleText:
    return TooLittleText(
        "The text gives {found:,} subwords, and the setting subwords asks for {size:,}. "
        "Add more text, or lower it to {limit}.",
        found=found,
        size=size,
        limit=found,
    )


TRAINERS: Mapping[str, Callable[[list[str], int, tuple[str, ...]], Engine]] = {
    "bpe": _train_bpe,
    "wordpiece": _train_wordpiece,
    "unigram": _train_unigram,
}
