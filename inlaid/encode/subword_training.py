"""BPE, WordPiece, Unigram, learned from text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tokenizers import Tokenizer as Engine
from tokenizers import models, pre_tokenizers, trainers

from inlaid.encode import sentencepiece
from inlaid.encode.subwords import (
    SPECIAL,
    UNKNOWN,
    Subwords,
    bert_like,
    byte_level,
    refuse_surrogates,
    refusing,
)
from inlaid.errors import InlaidError, SettingError, SourceError, UnknownName, did_you_mean, need
from inlaid.report import Report, counted, silent

THREADS = 16
"""SentencePiece adds its sums up thread by thread, so this number, not the number of cores, is part of the
result."""


def train(
    kind: str,
    sentences: Iterable[str],
    *,
    size: int = 8000,
    special: tuple[str, ...] = SPECIAL,
    report: Report = silent,
) -> Subwords:
    """Learn `size` words (special tokens included) of the kind bpe, wordpiece or unigram.

    The same text gives the same tokenizer, whatever the number of threads. Nothing is lower-cased or
    normalised here.
    """
    if kind not in TRAINERS:
        hint = did_you_mean(kind, TRAINERS) or f" There are: {', '.join(TRAINERS)}."
        raise UnknownName(f"No subword tokenizer is called '{kind}'.{hint}")
    _check_special(kind, special)
    text = _listed(sentences, report)
    with refusing(
        "The subword library gave up on this text", "Try another kind, or find the sentence it cannot take."
    ):
        trained = Subwords(TRAINERS[kind](text, size, special))
    if len(trained.vocabulary) < size:
        raise _too_little_text(size, len(trained.vocabulary))
    return trained


def _check_special(kind: str, special: tuple[str, ...]) -> None:
    if len(set(special)) < len(special) or not all(name.strip() for name in special):
        raise SettingError(f"special is {special}; expected names that differ and are not empty.")
    if kind != "bpe" and UNKNOWN not in special:
        raise SettingError(
            f"special is {special}, without {UNKNOWN}, which {kind} needs for what it does not know. Add it."
        )


def _listed(sentences: Iterable[str], report: Report) -> list[str]:
    text = list(counted(sentences, "reading text for subwords", unit="sentences", report=report))
    if not any(sentence.strip() for sentence in text):
        raise SourceError(
            f"The text is empty ({len(text)} sentences): subwords are learned from text. Give some."
        )
    for sentence in text:
        refuse_surrogates(sentence)
    return text


def _train_bpe(text: list[str], size: int, special: tuple[str, ...]) -> Engine:
    """Bytes, and pairs of words merged in the order of their counts: any text can be written, and read
    back."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    if size < len(special) + len(alphabet):
        raise SettingError(
            f"size is {size}; bpe needs {len(alphabet)} bytes and {len(special)} special tokens, so at least that many."
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
    """BERT's: words between blanks and punctuation, every Chinese character apart; "##" where a word goes
    on."""
    seen = _word_level(text)
    inside = sorted({"##" + character for word in seen for character in word[1:]})
    least = len({character for word in seen for character in word} | set(special)) + len(inside)
    if size < least:
        raise SettingError(
            f"size is {size}, but the characters of this text and {len(special)} special tokens are {least:,} words already. "
            f"Raise size above that, or take bpe, which needs {len(special) + 256}."
        )
    engine = bert_like(models.WordPiece(unk_token=UNKNOWN), lower=False, clean=False)
    # The library numbers "##x" as it meets them in a hash table, and breaks ties by number: naming them first
    # fixes both.
    names = [*special, *(name for name in inside if name not in special)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, special_tokens=names, show_progress=False
    )
    engine.train_from_iterator(text, trainer)
    engine = bert_like(models.WordPiece(engine.get_vocab(), unk_token=UNKNOWN), lower=False, clean=False)
    engine.add_special_tokens(list(special))
    return engine


def _word_level(text: list[str]) -> list[str]:
    """The distinct words that WordPiece is to split."""
    counter = bert_like(models.WordLevel(unk_token=UNKNOWN), lower=False, clean=False)
    counter.train_from_iterator(
        text, trainers.WordLevelTrainer(vocab_size=2**31, min_frequency=0, show_progress=False)
    )
    return list(counter.get_vocab())


def _train_unigram(text: list[str], size: int, special: tuple[str, ...]) -> Engine:
    """SentencePiece's, by SentencePiece itself: Hugging Face's trainer gives other scores at each run, and
    takes longer.

    What was too rare to learn is written in bytes, so any text can be written and read back; only "▁" comes
    back as a space.
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


def _sentencepiece_refusal(size: int, said: str) -> InlaidError:
    if most := re.search(r"<= (\d+)", said):
        return _too_little_text(size, int(most[1]))
    if least := re.search(r"(\d+) vs (\d+)", said):
        return SettingError(
            f"size is {size}, but the characters of this text, 256 bytes and the special tokens are more "
            f"({least[0].replace('vs', 'where there are')}). Raise size, or take bpe, which needs fewer."
        )
    return SourceError(f"SentencePiece cannot learn from this text: {said}")


def _too_little_text(size: int, found: int) -> SourceError:
    return SourceError(
        f"The text gives {found:,} subwords, and size asks for {size:,}. Bring more text, or lower size to {found}."
    )


TRAINERS: Mapping[str, Callable[[list[str], int, tuple[str, ...]], Engine]] = {
    "bpe": _train_bpe,
    "wordpiece": _train_wordpiece,
    "unigram": _train_unigram,
}
