"""Names users may type, and where each lives; imports nothing until asked."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from inlaid.errors import UnknownName, did_you_mean
from inlaid.messages import Message


@dataclass(frozen=True)
class Entry:
    """One name of one kind: where its object lives, what it is in a line, which extra it needs."""

    kind: str
    name: str
    where: str
    summary: str
    extra: str = ""
    aliases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Other names that people of the field type, each with the settings it stands for."""
    called_elsewhere: tuple[str, ...] = ()
    """Names that other tools have for something close to it; typed, they lead to "did you mean"."""

    def load(self) -> Any:
        module, _, attribute = self.where.partition(":")
        loaded = importlib.import_module(f"inlaid.{module}")
        return getattr(loaded, attribute) if attribute else loaded


ENTRIES = (
    Entry("method", "onehot", "fit.onehot:OneHot", "one axis a word; every pair equally far"),
    Entry("method", "ppmi", "fit.ppmi:PPMI", "co-occurrence counts, positive PMI, truncated SVD"),
    Entry(
        "method",
        "sgns",
        "fit.sgns:SGNS",
        "word2vec: skip-gram or CBOW with negative sampling",
        aliases={
            "word2vec": {},
            "skipgram": {"objective": "skipgram"},
            "skip-gram": {"objective": "skipgram"},
            "cbow": {"objective": "cbow"},
        },
    ),
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
    Entry("tokenizer", "whitespace", "encode.tokenizers:Whitespace", "tokens between white space"),
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
        "encode.subwords.training:train",
        "byte-level BPE: pairs merged by frequency; lossless",
    ),
    Entry(
        "subwords",
        "wordpiece",
        "encode.subwords.training:train",
        "BERT's WordPiece; every Chinese character is a word",
    ),
    Entry(
        "subwords",
        "unigram",
        "encode.subwords.training:train",
        "SentencePiece's unigram model: the likeliest segmentation; lossless",
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
        "analysis",
        "neighbors",
        "study.search.neighbors:neighbors",
        "the words nearest to a word",
        called_elsewhere=("most_similar", "nearest", "similar", "nn"),
    ),
    Entry(
        "analysis",
        "analogy",
        "study.search.analogy:analogy",
        'the words nearest to a sum of words: "king - man + woman"',
        called_elsewhere=("analogies", "formula"),
    ),
    Entry(
        "analysis",
        "vector",
        "study.search.vector:vector",
        "the vector of a word or of a formula",
        called_elsewhere=("get_vector", "embedding", "embed"),
    ),
    Entry(
        "analysis",
        "similarity",
        "study.search.similarity:similarity",
        "the cosine of two words, of several, or of pairs in a file",
        called_elsewhere=("cosine", "distance"),
    ),
    Entry(
        "analysis",
        "odd_one_out",
        "study.search.odd_one_out:odd_one_out",
        "the word of a list that does not belong",
        called_elsewhere=("doesnt_match", "outlier"),
    ),
    Entry(
        "analysis",
        "cooccurrence",
        "study.explain.cooccurrence:cooccurrence",
        "how often words occur together in a corpus",
        called_elsewhere=("counts", "cooccurrences"),
    ),
    Entry(
        "analysis",
        "evaluate",
        "study.evaluate.evaluate:evaluate",
        "scores on tasks with known answers, with intervals",
        called_elsewhere=("score", "benchmark", "evaluate_word_pairs", "evaluate_word_analogies", "test"),
    ),
    Entry(
        "analysis",
        "inspect",
        "study.explain.inspect:inspect",
        "what a checkpoint holds: tables, parameters, memory; without loading it",
    ),
    Entry(
        "analysis",
        "geometry",
        "study.search.geometry:geometry",
        "hubness and anisotropy of a space",
        called_elsewhere=("hubness", "anisotropy", "isotropy", "hubs"),
    ),
    Entry(
        "analysis",
        "compare",
        "study.compare.compare:compare",
        "what changed between two spaces, and whether chance explains it",
        called_elsewhere=("diff",),
    ),
    Entry(
        "analysis",
        "changes",
        "study.compare.changes:changes",
        "neighbors of a word kept, lost and gained between two spaces",
    ),
    Entry(
        "analysis",
        "stability",
        "study.compare.changes:stability",
        "neighbors of a word that several runs agree on",
    ),
    Entry(
        "analysis",
        "align",
        "study.compare.align:align",
        "one space aligned to another by a dictionary; translations",
        called_elsewhere=("procrustes", "muse", "vecmap", "translate"),
    ),
    Entry(
        "analysis",
        "explain",
        "study.explain.explain:explain",
        "why two words are near: contexts, sentences, dimensions, n-grams",
    ),
    Entry(
        "analysis",
        "fill",
        "study.explain.fill:fill",
        "the words that best fit a blank: 这是一个___的苹果",
        called_elsewhere=("predict_output_word",),
    ),
    Entry(
        "analysis",
        "axis",
        "study.explain.axis:axis",
        "where words lie between two lists of words",
        called_elsewhere=("weat", "bias"),
    ),
    Entry(
        "analysis",
        "dimensions",
        "study.explain.dimensions:dimensions",
        "scores as dimensions are removed, and what each correlates with",
        called_elsewhere=("ablation",),
    ),
    Entry(
        "analysis",
        "doctor",
        "study.doctor.doctor:doctor",
        "what is wrong with a space, and what to do about it",
        called_elsewhere=("check", "diagnose"),
    ),
    Entry(
        "analysis",
        "map",
        "study.map.map:map",
        "words on a plane, as a picture or page, and how far to trust it",
        called_elsewhere=("plot", "tsne", "umap", "pca"),
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
    """The entry of this name or alias, of one kind or of others; a wrong name raises UnknownName with the
    closest right one."""
    found = entries(kind, *others)
    known = {each.name: each for each in found}
    for each in found:
        known.update(dict.fromkeys(each.aliases, each))
    if name not in known:
        raise UnknownName(
            "No {kind} is called '{name}'.{hint}", kind=kind, name=name, hint=suggestion(name, found)
        )
    return known[name]


def suggestion(name: str, among: Iterable[Entry]) -> Message:
    """A sentence with the name that was meant, by what other tools call it or by spelling; otherwise with all
    names."""
    known = list(among)
    meant = next((each.name for each in known if name in each.called_elsewhere), None)
    if meant is not None:
        return Message(" Did you mean '{close}'?", close=meant)
    names = ", ".join(each.name for each in known)
    return did_you_mean(name, [other for each in known for other in (each.name, *each.aliases)]) or Message(
        " There are: {names}.", names=names
    )


def find(kind: str, name: str) -> Any:
    """Import and return the object that `name` stands for."""
    return entry(kind, name).load()


def name_of(kind: str, found: Any) -> str:
    """The name under which an object is registered; without an entry, its own name in lower case."""
    for each in entries(kind):
        module, _, attribute = each.where.partition(":")
        if attribute == found.__name__ and found.__module__ == f"inlaid.{module}":
            return each.name
    return found.__name__.lower()
