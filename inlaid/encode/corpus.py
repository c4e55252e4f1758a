"""Corpus: ids in one flat memory-mapped array, with sentence offsets; encoded once, used by all."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inlaid import array_writer, arrays, files, registry
from inlaid.collect.charsets import UTF8, canonical
from inlaid.collect.normalize import normalizer
from inlaid.collect.sources import Text
from inlaid.config import Positive, check, settings_of
from inlaid.encode.dictionary import normalized, words_of
from inlaid.encode.joining import JOINED, check_record, joining, read_phrases
from inlaid.encode.shards import JoinedIds, Shard, joined_offsets, open_shard
from inlaid.encode.tokenizers import Tokenizer
from inlaid.encode.vocabulary import Vocabulary, expect_counts, pack, unpack, unpack_words
from inlaid.errors import FormatError, SettingError, UnknownName
from inlaid.messages import Listed, Message, option
from inlaid.notebook import html_of
from inlaid.report import Report, silent
from inlaid.shapes import Ids, Offsets
from inlaid.untrusted import parse_json_part
from inlaid.values import Values

FILE = "corpus.safetensors"
TOKENIZER = "tokenizer.json"
SHOWN = 8
"""Words that a representation shows."""
MAX_TOTAL = 1 << 62
"""Tokens of a corpus, at most."""
OF_WORDS = ("dictionary", "force_dictionary", "hmm", "symbols")
"""Settings of the word tokenizer alone."""
COUNTED = {"read": 0, "used": 0}
MANIFEST = {
    "encoding": {"normalize": [""], "dictionary": [""]},
    "sentences": COUNTED,
    "tokens": COUNTED | {"dropped": {"*": 0}},
    "words": COUNTED,
    "lint": {"*": 0},
    "hash": "",
}
"""The fields of a manifest that something relies on."""


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """How text becomes ids."""

    tokenizer: str = "word"
    """How text is cut into tokens: whitespace, word or char, or subwords learned from the text: bpe,
    wordpiece, unigram."""
    tokenizer_file: Path | None = None
    """Use an existing subword tokenizer: tokenizer.json, the vocabulary of GPT-2 or BERT, a SentencePiece
    model, or a folder with one of them."""
    subwords: Positive | None = None
    """Vocabulary size of bpe, wordpiece and unigram; by default 8000, or as many as a small text has."""
    dictionary: str | Path | tuple[str | Path, ...] = ()
    """Words for the segmenter, of Chinese or mixed script: files with one word per line, words, or both. A
    frequency may follow a word, as in a dictionary of jieba. They are normalized like the text."""
    force_dictionary: bool = False
    """Make each word of the dictionary one token, also where it breaks a longer word. Otherwise words compete
    by frequency, as in jieba, and a short word leaves longer ones whole."""
    hmm: bool = True
    """Join single Chinese characters to words that are in no dictionary, by jieba's hidden Markov model.
    `--no-hmm`: leave them single."""
    symbols: Literal["drop", "emoji", "all"] = "drop"
    """Symbols that are tokens of the word tokenizer: none (drop), emoji, or all (also + = $). Punctuation
    is always dropped."""
    normalize: tuple[str, ...] | None = None
    """Normalization steps, applied in this order: nfc, nfkc, width, lower, simplified. Default: nfc, width
    and lower for words and characters, nfc for subwords learned here, and after these simplified where
    the text mixes simplified and traditional Chinese; nfc and lower for text cut at spaces; none for a
    tokenizer file, which has its own."""
    sentences: Literal["line", "split", "document"] = "line"
    """Where sentences end: at line ends only, or also at sentence-final punctuation inside lines, or, for
    subwords, not before the end of a document, so that line ends are tokens, too."""
    phrases: Path | None = None
    """Join the phrases of this file, which `inlaid phrases --save` wrote, into one word each."""
    min_count: Positive = 5
    """Words that occur less often are dropped; phrases are counted after joining."""
    max_size: Positive | None = None
    """Largest vocabulary size; the most frequent words are kept."""
    special: tuple[str, ...] = ()
    """Words that get the first ids, whether they occur or not."""
    unknown: str | None = None
    """Word that replaces every word outside the vocabulary; without it they are dropped."""
    field: str = "text"
    """Key or column of the text in jsonl, csv, tsv and parquet files."""
    invalid: Literal["error", "replace", "skip"] = "error"
    """Bytes that are not text: stop with an error, replace them with U+FFFD, or skip them."""
    charset: str = UTF8
    """Character encoding of the text and the dictionary: utf-8, gb18030 (also for gbk and gb2312), big5,
    utf-16 or another codec of Python; auto decides for each file. In TOML and Python: charset."""

    def __post_init__(self) -> None:
        check(self)
        canonical(self.charset)
        self._check_tokenizer()
        if self.has_subwords and (self.max_size or self.special or self.unknown is not None):
            raise SettingError(
                "max_size, special and unknown apply to words, but {tokenizer} has its own vocabulary. "
                "Remove them.",
                tokenizer=self.tokenizer_file or self.tokenizer,
            )
        if not all(word.strip() for word in (*self.special, self.unknown or "-")) or self.unknown == "":
            raise SettingError("special and unknown have an empty word. Give it a name, such as <unk>.")
        for name in self.steps:
            registry.entry("normalizer", name)
        if self.sentences == "document" and not self.has_subwords:
            raise SettingError(
                "sentences is document, which keeps line ends as tokens; {tokenizer} has no token for them. "
                "Use line or split, or the tokenizer bpe.",
                tokenizer=self.tokenizer,
            )
        self._refuse_settings_of_words()

    def _check_tokenizer(self) -> None:
        """Raise UnknownName for a tokenizer that does not exist, SettingError for a file."""
        try:
            registry.entry("tokenizer", self.tokenizer, "subwords")
        except UnknownName:
            if not Path(self.tokenizer).suffix and not Path(self.tokenizer).exists():
                raise
            raise SettingError(
                "tokenizer is '{tokenizer}', which is a file or folder; expected a name such as word or bpe. "
                "Use {option}.",
                tokenizer=self.tokenizer,
                option=option("tokenizer_file", self.tokenizer),
            ) from None

    def _refuse_settings_of_words(self) -> None:
        """Raise SettingError where a setting of the word tokenizer is given to another tokenizer."""
        if self.tokenizer == "word" and self.tokenizer_file is None:
            return
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for name in OF_WORDS:
            if getattr(self, name) != defaults[name]:
                raise SettingError(
                    "{name} works with the word tokenizer only, but the tokenizer is '{tokenizer}'. "
                    "Remove {name}, or use the word tokenizer.",
                    name=name,
                    tokenizer=self.tokenizer_file or self.tokenizer,
                )

    @property
    def steps(self) -> tuple[str, ...]:
        """The normalization steps, with the defaults that do not depend on the text."""
        if self.normalize is not None:
            return self.normalize
        if self.tokenizer_file:
            return ()
        if self.has_subwords:
            return ("nfc",)
        # Text cut at spaces was tokenized elsewhere: its full-width characters are tokens.
        return ("nfc", "lower") if self.tokenizer == "whitespace" else ("nfc", "width", "lower")

    @property
    def has_subwords(self) -> bool:
        """Whether the vocabulary is that of a subword tokenizer, rather than the words of the text."""
        if self.tokenizer_file is not None:
            return True
        return registry.entry("tokenizer", self.tokenizer, "subwords").kind == "subwords"

    def make_tokenizer(self) -> Tokenizer:
        """The tokenizer of words or characters, or of `tokenizer_file`; the files of the dictionary are
        read."""
        words = words_of(self.dictionary, self.charset)
        return self.tokenizer_with(normalized(words, normalizer(self.steps)))

    def tokenizer_with(self, words: tuple[str, ...]) -> Tokenizer:
        """The same with these words, already normalized, as the dictionary."""
        if self.tokenizer_file is not None:
            from inlaid.encode.subwords import loading  # imports the tokenizers library

            return loading.load(self.tokenizer_file)
        if self.has_subwords:
            raise SettingError(
                "{tokenizer} learns its vocabulary from text, so it cannot cut a text alone. "
                "Encode a corpus with it, or give a tokenizer_file.",
                tokenizer=self.tokenizer,
            )
        kind = registry.find("tokenizer", self.tokenizer)
        if self.tokenizer != "word":
            return kind()
        settings = {name: getattr(self, name) for name in OF_WORDS}
        return kind(**settings | {"dictionary": words})


@dataclass(frozen=True, eq=False)
class Corpus:
    """Encoded text: the ids of all sentences in one array; sentence s is ids[offsets[s]:offsets[s + 1]]."""

    ids: Ids | JoinedIds
    offsets: Offsets
    vocabulary: Vocabulary
    manifest: Mapping[str, Any]
    """How it was made: encoding, input files with hashes, tokens read, used and dropped, content hash."""
    tokenizer_json: str | None = None
    """The subword tokenizer it was encoded with, as Hugging Face's tokenizer.json."""
    opened: arrays.Arrays | None = field(default=None, repr=False)
    """The file that the vocabulary is in and, unless the corpus has shards, `ids` and `offsets`."""
    shards: tuple[arrays.Arrays, ...] = field(default=(), repr=False)
    """The files that `ids` and `offsets` are in, where they are several."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self._description()))

    def _repr_html_(self) -> str:
        return html_of(self._description())

    def _description(self) -> list[Message]:
        """Its size, how it was tokenized, and its most frequent words."""
        frequent = np.argsort(-self.vocabulary.counts, kind="stable")[:SHOWN].tolist()
        some = [self.vocabulary.words[id] for id in frequent]
        size = Message(
            "Corpus: {tokens:,} tokens in {sentences:,} sentences, {words:,} words",
            tokens=len(self.ids),
            sentences=len(self.offsets) - 1,
            words=len(self.vocabulary),
        )
        tokenizer = self.manifest.get("encoding", {}).get("tokenizer") or Message("not known")
        more = ", …" if len(self.vocabulary) > SHOWN else ""
        return [
            size,
            Message("tokenizer: {tokenizer}", tokenizer=tokenizer),
            Message("words: {some}{more}", some=Listed(some), more=more),
        ]

    def refuse_changed(self) -> None:
        """Raise FormatError if the file was cut or overwritten since it was opened. Loops over a corpus that
        may be larger than memory ask before every part."""
        for opened in self.files():
            opened.refuse_changed()

    def files(self) -> list[arrays.Arrays]:
        """The open files of the corpus; none if it is in memory."""
        return [] if self.opened is None else [self.opened, *self.shards]

    def tokenizer(self) -> Tokenizer:
        """The tokenizer it was encoded with."""
        encoding = self.manifest["encoding"]
        if self.tokenizer_json is None:
            return tokenizer_of(encoding, self.vocabulary.words)
        from inlaid.encode.subwords.tokenizer import Subwords  # imports the tokenizers library

        return joining(Subwords.from_json(self.tokenizer_json), encoding, self.vocabulary.words)

    def save(self, folder: Path) -> None:
        """Write the corpus as a folder that `open_corpus` opens."""
        ids = self.ids
        if isinstance(ids, JoinedIds):
            ids = array_writer.StreamedArray(ids.parts, ids.dtype, ids.shape)
        content = {"ids": ids, "offsets": self.offsets}
        write_corpus(folder, content, self.vocabulary, self.manifest, self.tokenizer_json)


def open_corpus(folder: Path) -> Corpus:
    """Open a saved corpus; every byte is verified, and every id and offset is in bounds."""
    opened = _open(folder)
    manifest = _read_manifest(opened)
    tokenizer = _read_tokenizer(folder / TOKENIZER, manifest)
    opened.verify()
    vocabulary = unpack(opened)
    _ = vocabulary.words.order  # checked now, not after hours of training
    total = vocabulary.counts.sum(dtype=np.float64)
    if not 1 <= total < MAX_TOTAL:
        raise FormatError(
            "{path}: its words occur {total:,.0f} times in all; expected a number from 1 to {most:,}. "
            "Restore the file from a copy, or encode the text again.",
            path=opened.path,
            total=float(total),
            most=MAX_TOTAL,
        )
    if "shards" not in opened.metadata:
        return Corpus(opened.whole("ids"), opened.whole("offsets"), vocabulary, manifest, tokenizer, opened)
    shards = tuple(open_shard(folder, each, len(vocabulary)) for each in _listed_shards(opened))
    ids = JoinedIds([each.whole("ids") for each in shards])
    return Corpus(ids, joined_offsets(shards), vocabulary, manifest, tokenizer, opened, shards)


def tokenizer_of(recorded: Mapping[str, Any], words: Container[str] | None = None) -> Tokenizer:
    """The tokenizer that a manifest or a card records, other than that of subwords. Its dictionary is the
    words themselves, as they were when the text was encoded. It joins the phrases of the corpus, whose
    vocabulary is `words`."""
    tokenizer = encoding_of(recorded).tokenizer_with(tuple(recorded.get("dictionary", ())))
    return joining(tokenizer, recorded, words)


def encoding_of(recorded: Mapping[str, Any]) -> Encoding:
    """The settings in what a manifest or a card records; it records more than settings."""
    names = {each.name for each in dataclasses.fields(Encoding)}
    return settings_of(Encoding, {name: value for name, value in recorded.items() if name in names})


def _open(folder: Path) -> arrays.Arrays:
    """The file of a corpus, which knows what its arrays must be; nothing but the header is read."""
    if not is_corpus(folder):
        raise _not_a_corpus(folder)
    opened = arrays.open_arrays(folder / FILE)
    if "manifest" not in opened.metadata:
        raise FormatError(
            "{path}: has no manifest; expected a corpus. A file of vectors is not one.", path=opened.path
        )
    words = len(unpack_words(opened))
    expect_counts(opened, words)
    if "shards" in opened.metadata:
        return opened
    end = math.prod(opened.shape("ids"))
    bounds = Values(dtypes=("I64",), shape=(None,), low=0, high=end, first=0, last=end, ascending=True)
    opened.expect("ids", Values(dtypes=("I32",), shape=(None,), low=0, high=words - 1))
    opened.expect("offsets", bounds)
    return opened


def _read_manifest(opened: arrays.Arrays) -> dict[str, Any]:
    """What commands and analyses rely on must be there; the rest may be anything."""
    manifest = parse_json_part(opened.path, "manifest", opened.metadata["manifest"])
    refuse_misfit(opened.path, "manifest", manifest, MANIFEST)
    check_record(opened.path, manifest["encoding"].get(JOINED, []))
    return manifest


def _listed_shards(opened: arrays.Arrays) -> list[Shard]:
    """The shards that the file of a corpus lists, in the order of the text."""
    listed = parse_json_part(opened.path, "shards", opened.metadata["shards"])
    refuse_misfit(opened.path, "shards", listed, [Shard("", 0, 0, "")._asdict()])
    return [Shard(**{name: each[name] for name in Shard._fields}) for each in listed]


def refuse_misfit(path: Path, name: str, found: Any, example: Any) -> None:
    """Raise FormatError unless what was found in JSON has the fields of the example, with their types.

    The key "*" stands for all fields that are there.
    """
    if type(found) is not type(example):
        raise FormatError(
            "{path}: '{name}' is a JSON {found}; expected {expected}. Restore the file from a copy.",
            path=path,
            name=name,
            found=type(found).__name__,
            expected=type(example).__name__,
        )
    if isinstance(example, dict):
        for key in found if "*" in example else example:
            refuse_misfit(path, f"{name}.{key}", found.get(key), example.get(key, example.get("*")))
    elif isinstance(example, list):
        for each in found:
            refuse_misfit(path, name, each, example[0])


def _read_tokenizer(path: Path, manifest: Mapping[str, Any]) -> str | None:
    if not path.is_file():
        return None
    content = path.read_bytes()
    # What is not UTF-8 was never written here, whatever its checksum.
    text = content.decode("utf-8", "replace")
    if files.checksum(content) != manifest.get("tokenizer") or text.encode() != content:
        raise FormatError(
            "{path} is not the tokenizer this corpus was encoded with (its checksum differs). "
            "Restore it from a copy, or encode the text again.",
            path=path,
        )
    return text


def is_corpus(path: Path) -> bool:
    return (path / FILE).is_file()


def _not_a_corpus(path: Path) -> FormatError:
    """The error names a command that overwrites nothing: often `path` is the text itself."""
    if path.is_file():
        return FormatError(
            "{path} is a file, and a corpus is a folder. If it is text, encode it with "
            "`inlaid corpus {path} -o {free}`, and name {free}.",
            path=path,
            free=_free_name(path),
        )
    if path.exists():
        return FormatError(
            "{path} is not a corpus: it holds no {file}. Make one with `inlaid corpus TEXT -o {free}`.",
            path=path,
            file=FILE,
            free=_free_name(path),
        )
    return FormatError("There is no corpus {path}. Make one with `inlaid corpus TEXT -o {path}`.", path=path)


def _free_name(path: Path) -> Path:
    """A path beside `path` with the suffix .corpus, where nothing exists yet."""
    stem = path.name.partition(".")[0] or "text"
    names = itertools.chain([f"{stem}.corpus"], (f"{stem}-{number}.corpus" for number in itertools.count(2)))
    return next(path.parent / name for name in names if not (path.parent / name).exists())


def encode(
    text: Text,
    encoding: Encoding | None = None,
    report: Report = silent,
    *,
    workers: int | None = None,
    out: Path | None = None,
) -> Corpus:
    """Read text once and turn it into ids, the most frequent word first.

    The number of workers does not change the result. With `out`, the corpus is written there piece by piece
    and memory-mapped, so it may be larger than memory.

    >>> corpus = encode(["the cat sits", "the cat runs"], Encoding(min_count=2))
    >>> list(corpus.vocabulary.words), corpus.ids.tolist(), corpus.offsets.tolist()
    (['cat', 'the'], [1, 0, 1, 0], [0, 2, 4])
    """
    from inlaid.encode.encoder import encode_text  # imports Numba, which opening a corpus does not need

    encoding = encoding or Encoding()
    if encoding.phrases is None:
        return encode_text(text, encoding, report, workers, out)
    from inlaid.encode.phrases import join_again

    joins = read_phrases(encoding.phrases)
    if out is not None:
        files.can_write(out, folder=True)
    plain = encode_text(text, dataclasses.replace(encoding, phrases=None), report, workers, None)
    joined = join_again(plain, joins)
    if out is None:
        return joined
    joined.save(out)
    return open_corpus(out)


def write_corpus(
    folder: Path,
    content: Mapping[str, Any],
    vocabulary: Vocabulary,
    manifest: Mapping[str, Any],
    tokenizer_json: str | None,
) -> None:
    with files.writing_folder(folder) as part:
        write_parts(part, content, vocabulary, manifest, tokenizer_json)


def write_parts(
    folder: Path,
    content: Mapping[str, Any],
    vocabulary: Vocabulary,
    manifest: Mapping[str, Any],
    tokenizer_json: str | None,
    shards: Sequence[Shard] = (),
) -> None:
    """Write the files of a corpus into a folder that is being written. Where the ids are in shards, which are
    there already, `content` is empty."""
    metadata = {"manifest": json.dumps(manifest, ensure_ascii=False)}
    if shards:
        metadata["shards"] = json.dumps([each._asdict() for each in shards])
    array_writer.write(folder / FILE, {**content, **pack(vocabulary)}, metadata)
    if tokenizer_json is not None:
        files.write_text(folder / TOKENIZER, tokenizer_json)
