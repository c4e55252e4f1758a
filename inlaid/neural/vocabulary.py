"""Vocabulary of a model: the tokenizer of a corpus, with the special tokens that a network needs.

Subwords keep their tokenizer. Words and characters get one that cuts text as the corpus was cut, by rjieba
where it is Chinese. What no vocabulary has, such as [MASK], is added at its end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tokenizers import Tokenizer as Engine
from tokenizers import pre_tokenizers
from tokenizers.models import WordLevel
from tokenizers.processors import TemplateProcessing

from inlaid.encode.corpus import Corpus, tokenizer_of
from inlaid.encode.joining import JOINED
from inlaid.encode.subwords.tokenizer import engine_from
from inlaid.encode.subwords.word_level import library_normalizer, tokenizer_for, with_normalizer
from inlaid.encode.tokenizers import Tokenizer
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError
from inlaid.report import Report, silent
from inlaid.untrusted import library_errors, parse_json, read_json_object

NAMES = {
    "padding": ("[PAD]", "<pad>", "<|pad|>"),
    "unknown": ("[UNK]", "<unk>"),
    "start": ("[CLS]", "<s>", "<|endoftext|>", "<bos>"),
    "end": ("[SEP]", "</s>", "<|endoftext|>", "<eos>"),
    "mask": ("[MASK]", "<mask>"),
    "separator": ("[TRANSLATION]",),
}
"""What special tokens are called: the first name is given to those that are added."""
WORDS = "words.json"
"""The file of a tokenizer of words: how text is cut, and the words by their ids."""
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class ModelVocabulary:
    """A tokenizer as models use it, and the ids of its special tokens by their role."""

    tokenizer: Any
    special: Mapping[str, int]

    @property
    def size(self) -> int:
        return self.tokenizer.get_vocab_size(with_added_tokens=True)


def vocabulary_of(corpus: Corpus, roles: Sequence[str], report: Report) -> ModelVocabulary:
    """The vocabulary of a corpus with special tokens for these roles. Ids of the corpus stay as they are."""
    encoding = corpus.manifest["encoding"]
    if corpus.tokenizer_json is None:
        tokenizer = word_tokenizer(encoding, list(corpus.vocabulary.words), report)
    else:
        tokenizer = engine_from(with_normalizer(corpus.tokenizer_json, encoding, report))
    return ModelVocabulary(tokenizer, {role: _id_of(tokenizer, NAMES[role]) for role in roles})


def surround(vocabulary: ModelVocabulary, *, start: bool, last: str = "end") -> None:
    """Let the tokenizer end each text with the token of the role `last`, and with `start` begin it with the
    start token."""
    tokenizer = vocabulary.tokenizer
    roles = ["start", last] if start else [last]
    special = [(tokenizer.id_to_token(vocabulary.special[role]), vocabulary.special[role]) for role in roles]
    names = [name for name, _ in special]
    template = [names[0], "$A", names[1]] if start else ["$A", names[0]]
    tokenizer.post_processor = TemplateProcessing(single=template, special_tokens=special)


def _id_of(tokenizer: Any, names: Sequence[str]) -> int:
    """The id of the first of these names that the vocabulary has; if it has none, the first name is added."""
    name = next((each for each in names if tokenizer.token_to_id(each) is not None), names[0])
    tokenizer.add_special_tokens([name])  # a word of the vocabulary keeps its id
    return tokenizer.token_to_id(name)


# ---- Words


@runtime_checkable
class CutsWords(Protocol):
    """A tokenizer that cuts text as a corpus of words or characters was cut."""

    encoding_of_words: Mapping[str, Any]


class _Cut:
    """A pre-tokenizer for the library: our tokenizer, and only words that have an id."""

    def __init__(self, tokenizer: Tokenizer, known: frozenset[str] | None) -> None:
        self.tokenizer = tokenizer
        self.known = known

    def pre_tokenize(self, text: Any) -> None:
        # the library lends a reference, which is of a type of its own
        text.split(self._pieces)

    def _pieces(self, number: int, text: Any) -> list[Any]:
        tokens = self.tokenizer.tokenize(str(text))
        kept = [each for each in tokens if self.known is None or each.text in self.known]
        found = [text[token.start : token.end] for token in kept]
        return [each for each in found if each is not None]


def word_tokenizer(encoding: Mapping[str, Any], words: list[str], report: Report = silent) -> Any:
    """A tokenizer that cuts text as a corpus of words or characters was cut.

    Words that the vocabulary lacks become its unknown word, or are dropped, as they were in the corpus.
    """
    unknown = encoding.get("unknown")
    vocabulary = {word: id for id, word in enumerate(words)}
    # where unknown words are dropped, the library never meets one
    engine = Engine(WordLevel(vocabulary, unk_token=words[0] if unknown is None else unknown))
    engine.normalizer = library_normalizer(encoding.get("normalize", ()), report)
    return _cutting(engine, encoding)


def _cutting(engine: Engine, encoding: Mapping[str, Any]) -> Any:
    """The engine with our own tokenizer in front."""
    known = None if encoding.get("unknown") is not None else frozenset(engine.get_vocab())
    plain = {**encoding, JOINED: []}  # the library's words are parts of the text, which phrases are not
    engine.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(_Cut(tokenizer_of(plain), known))
    engine.encoding_of_words = encoding  # pyright: ignore[reportAttributeAccessIssue]
    return engine


def word_files(tokenizer: Any) -> dict[str, bytes]:
    """The files of a tokenizer of words: its own, and a tokenizer.json for other libraries, which cuts
    Chinese by the longest match."""
    encoding = tokenizer.encoding_of_words
    ours = Engine.from_str(_without_pre_tokenizer(tokenizer))
    ids = ours.get_vocab(with_added_tokens=True)
    words = sorted(ids, key=ids.__getitem__)
    theirs = Engine.from_str(tokenizer_for(Words.of(words), encoding, silent).json)
    special = [each for each in ours.get_added_tokens_decoder().values() if each.special]
    theirs.add_special_tokens(special)
    if ours.post_processor is not None:
        theirs.post_processor = ours.post_processor
    about = {"encoding": dict(encoding), "tokenizer": parse_json(ours.to_str())}
    return {
        WORDS: json.dumps(about, ensure_ascii=False).encode("utf-8"),
        TOKENIZER: theirs.to_str().encode("utf-8"),
    }


def _without_pre_tokenizer(tokenizer: Any) -> str:
    """The library cannot write a pre-tokenizer that is not its own."""
    cut = tokenizer.pre_tokenizer
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    try:
        return tokenizer.to_str()
    finally:
        tokenizer.pre_tokenizer = cut


def read_words(folder: Path) -> Any:
    """The tokenizer of words in a folder; None if there is none."""
    path = folder / WORDS
    if not path.is_file():
        return None
    about = read_json_object(path)

    def failed(reason: str) -> FormatError:
        return FormatError(
            "{path} does not describe a tokenizer of words: {reason}. Get the file again.",
            path=path,
            reason=reason,
        )

    with library_errors(failed):
        try:
            engine = Engine.from_str(json.dumps(about["tokenizer"]))
            return _cutting(engine, about["encoding"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise failed(str(error)) from None
