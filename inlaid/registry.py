"""Names users may type, and where each lives; imports nothing until asked."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from inlaid.errors import UnknownName, did_you_mean


@dataclass(frozen=True)
class Entry:
    """One name of one kind: where its object lives, what it is in a line, which extra it needs."""

    kind: str
    name: str
    where: str
    summary: str
    extra: str = ""

    def load(self) -> Any:
        module, _, attribute = self.where.partition(":")
        loaded = importlib.import_module(f"inlaid.{module}")
        return getattr(loaded, attribute) if attribute else loaded


ENTRIES = (
    Entry("method", "onehot", "fit.onehot:OneHot", "one axis a word; every pair equally far"),
    Entry("method", "ppmi", "fit.ppmi:PPMI", "co-occurrence counts, positive PMI, truncated SVD"),
    Entry("method", "sgns", "fit.sgns:SGNS", "word2vec: skip-gram or CBOW with negative sampling"),
    Entry(
        "method",
        "fasttext",
        "fit.fasttext:FastText",
        "word2vec over character n-grams; unseen words have vectors",
    ),
    Entry(
        "method",
        "glove",
        "fit.glove:GloVe",
        "products of vectors learn the logarithms of co-occurrence counts",
    ),
    Entry(
        "format",
        "native",
        "formats.native",
        "Inlaid's own: one safetensors file, mapped and checksummed (.inlaid)",
    ),
    Entry(
        "format", "glove", "formats.text:GLOVE", "a line a word, its numbers after it (.txt); gz and xz too"
    ),
    Entry(
        "format",
        "word2vec-text",
        "formats.text:WORD2VEC_TEXT",
        'the same after a line "count dim"; also fastText\'s (.vec)',
    ),
    Entry(
        "format",
        "word2vec",
        "formats.word2vec",
        "word2vec's binary: count, dim, then words and raw float32 (.bin)",
    ),
    Entry(
        "format", "fasttext", "formats.fasttext", "fastText's models with their n-grams (.bin; .ftz is read)"
    ),
    Entry(
        "format",
        "static-embedding",
        "formats.folder:STATIC_EMBEDDING",
        "a folder for sentence-transformers; reads any checkpoint's",
    ),
    Entry("format", "model2vec", "formats.folder:MODEL2VEC", "a folder for model2vec"),
    Entry(
        "format",
        "projector",
        "formats.projector",
        "TensorBoard projector: a folder of tensors.tsv and metadata.tsv",
    ),
    Entry("format", "npz", "formats.npz", "NumPy archive with words and table (.npz)"),
    Entry(
        "format",
        "parquet",
        "formats.parquet",
        "a column of words and a column of vectors (.parquet)",
        "parquet",
    ),
    Entry("tokenizer", "whitespace", "encode.tokenizers:Whitespace", "what stands between white space"),
    Entry(
        "tokenizer",
        "word",
        "encode.tokenizers:Word",
        "Unicode words, Chinese words by rjieba; both in one sentence",
    ),
    Entry("tokenizer", "char", "encode.tokenizers:Char", "every visible character"),
    Entry(
        "subwords",
        "bpe",
        "encode.subword_training:train",
        "bytes merged by frequency; any text, nothing lost",
    ),
    Entry(
        "subwords",
        "wordpiece",
        "encode.subword_training:train",
        "BERT's: parts of words, Chinese characters apart",
    ),
    Entry(
        "subwords",
        "unigram",
        "encode.subword_training:train",
        "SentencePiece's: the likeliest cut; nothing lost",
        "sentencepiece",
    ),
    Entry("normalizer", "nfc", "collect.normalize:nfc", "Unicode composed form (é is one character)"),
    Entry(
        "normalizer",
        "nfkc",
        "collect.normalize:nfkc",
        "compatibility form: full-width and half-width become one",
    ),
    Entry(
        "normalizer",
        "width",
        "collect.normalize:width",
        "full-width letters, digits and signs become half-width",
    ),
    Entry("normalizer", "lower", "collect.normalize:lower", "lower case"),
    Entry(
        "normalizer",
        "simplified",
        "collect.normalize:simplified",
        "traditional Chinese characters become simplified",
    ),
    Entry(
        "task",
        "world-fields",
        "study.evaluate.world_tasks:WorldFields",
        "nearest word is of the same field, on the embedded world",
    ),
    Entry(
        "task",
        "world-analogies",
        "study.evaluate.world_tasks:world_analogies",
        "planted analogies solved, on the embedded world",
    ),
    Entry(
        "task",
        "world-categories",
        "study.evaluate.world_tasks:world_categories",
        "words fall into their fields, on the embedded world",
    ),
    Entry(
        "task",
        "world-outliers",
        "study.evaluate.world_tasks:world_outliers",
        "the word of another field is found, on the embedded world",
    ),
    Entry(
        "family", "bert", "neural.families.bert:BERT", "masked language models: BERT and sentence encoders"
    ),
    Entry("family", "roberta", "neural.families.roberta:ROBERTA", "BERT with byte-level BPE"),
    Entry("family", "gpt2", "neural.families.gpt2:GPT2", "causal language models with learned positions"),
    Entry("family", "llama", "neural.families.llama:LLAMA", "causal language models with rotary positions"),
    Entry("family", "qwen2", "neural.families.qwen2:QWEN2", "Llama with biases in query, key and value"),
    Entry("family", "t5", "neural.families.t5:T5", "text to text, with relative positions"),
    Entry("family", "marian", "neural.families.marian:MARIAN", "translation: the original Transformer"),
    Entry(
        "family", "elmo", "neural.families.elmo:ELMO", "two LSTM language models over characters (read only)"
    ),
    Entry("family", "inlaid", "neural.families.own:OWN", "any other network, in Inlaid's own folders"),
    Entry("position", "none", "neural.encodings:NONE", "no positions: a text is a set of tokens"),
    Entry("position", "learned", "neural.encodings:LEARNED", "one learned vector for each position"),
    Entry("position", "sinusoidal", "neural.encodings:SINUSOIDAL", "sines and cosines added to the input"),
    Entry("position", "shaw", "neural.encodings:SHAW", "a learned vector for each distance"),
    Entry(
        "position", "t5", "neural.encodings:BUCKETS", "a learned bias for each head and bucket of distances"
    ),
    Entry(
        "position", "transformer-xl", "neural.encodings:TRANSFORMER_XL", "projected sinusoids of distances"
    ),
    Entry("position", "alibi", "neural.encodings:ALIBI", "a linear penalty of the distance in each head"),
    Entry("position", "rotary", "neural.encodings:ROTARY", "queries and keys rotated by their positions"),
)


def entries(*kinds: str) -> tuple[Entry, ...]:
    """All entries of some kinds, in their written order."""
    return tuple(entry for entry in ENTRIES if entry.kind in kinds)


def entry(kind: str, name: str, *others: str) -> Entry:
    """The entry of this name, of one kind or of others; a wrong name raises UnknownName with the closest
    right one."""
    known = {each.name: each for each in entries(kind, *others)}
    if name not in known:
        hint = did_you_mean(name, known) or f" There are: {', '.join(known)}."
        raise UnknownName(f"No {kind} is called '{name}'.{hint}")
    return known[name]


def find(kind: str, name: str) -> Any:
    """Import and return the object that `name` stands for."""
    return entry(kind, name).load()
