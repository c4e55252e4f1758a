"""Names users may type, and where each lives; imports nothing until asked."""

from __future__ import annotations

import importlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inlaid.errors import UnknownName, did_you_mean
from inlaid.messages import Listed, Message, word


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


@dataclass(frozen=True)
class Alias:
    """Other names that people type for an entry, because a paper or another tool has them."""

    kind: str
    name: str
    """The name of the entry."""
    typed: str
    """The other names, separated by spaces."""
    settings: Mapping[str, Any] | None = None
    """With settings, even none of them, the alias is accepted and stands for the entry with these settings.
    Without, it means something close, and the error says "did you mean"."""


ENTRIES = (
    Entry("method", "onehot", "fit.onehot:OneHot", "one axis a word; every pair equally far"),
    Entry("method", "ppmi", "fit.ppmi:PPMI", "co-occurrence counts, positive PMI, truncated SVD"),
    Entry("method", "sgns", "fit.sgns:SGNS", "word2vec: skip-gram or CBOW with negative sampling"),
    Entry("method", "fasttext", "fit.fasttext:FastText", "word2vec over character n-grams; unseen words too"),
    Entry("method", "glove", "fit.glove:GloVe", "dot products fit the logarithms of co-occurrence counts"),
    Entry("method", "bilm", "fit.bilm:BiLM", "ELMo: predicts the next and the previous word", "neural"),
    Entry("method", "masked", "fit.masked:Masked", "BERT: finds hidden words", "neural"),
    Entry("method", "causal", "fit.causal:Causal", "GPT: predicts the next token", "neural"),
    Entry("method", "translation", "fit.translation:Translation", "translates sentences", "neural"),
    Entry("method", "contrastive", "fit.contrastive:Contrastive", "embeds sentences, from pairs", "neural"),
    Entry("classifier", "ngrams", "fit.classifier:NGramClassifier", "bags of n-grams, trained end to end"),
    Entry("classifier", "logistic", "study.use.classify:LogisticClassifier", "regression on embedded texts"),
    Entry("format", "native", "formats.native", "Inlaid's own: a safetensors file with checksums (.inlaid)"),
    Entry("format", "glove", "formats.text:GLOVE", "a word and its numbers on each line (.txt, gz, xz)"),
    Entry("format", "word2vec-text", "formats.text:WORD2VEC_TEXT", 'lines after a line "count dim" (.vec)'),
    Entry("format", "word2vec", "formats.word2vec", "word2vec's binary: words and raw float32 (.bin)"),
    Entry("format", "fasttext", "formats.fasttext", "fastText's models with n-grams (.bin, quantized .ftz)"),
    Entry("format", "static-embedding", "formats.folder:STATIC_EMBEDDING", "a sentence-transformers folder"),
    Entry("format", "model2vec", "formats.folder:MODEL2VEC", "a folder for model2vec"),
    Entry("format", "projector", "formats.projector", "TensorBoard projector: tensors.tsv and metadata.tsv"),
    Entry("format", "npz", "formats.npz", "NumPy archive with words and table (.npz)"),
    Entry("format", "parquet", "formats.parquet", "columns of words and of vectors (.parquet)", "parquet"),
    Entry("tokenizer", "whitespace", "encode.tokenizers:Whitespace", "tokens between white space"),
    Entry("tokenizer", "word", "encode.tokenizers:Word", "Unicode words; Chinese words by rjieba"),
    Entry("tokenizer", "char", "encode.tokenizers:Char", "every visible character"),
    Entry("subwords", "bpe", "encode.subwords.training:learn", "byte-level BPE; lossless"),
    Entry("subwords", "wordpiece", "encode.subwords.training:learn", "BERT's; Chinese by character"),
    Entry("subwords", "unigram", "encode.subwords.training:learn", "SentencePiece's model", "sentencepiece"),
    Entry("normalizer", "nfc", "collect.normalize:nfc", "Unicode composed form (é is one character)"),
    Entry("normalizer", "nfkc", "collect.normalize:nfkc", "compatibility form: one form for every width"),
    Entry("normalizer", "width", "collect.normalize:width", "full-width characters become half-width"),
    Entry("normalizer", "lower", "collect.normalize:lower", "lower case"),
    Entry("normalizer", "simplified", "collect.normalize:simplified", "traditional Chinese simplified"),
    Entry("task", "world-fields", "study.evaluate.world_tasks:WorldFields", "neighbors of the same field"),
    Entry("task", "world-analogies", "study.evaluate.world_tasks:world_analogies", "planted analogies"),
    Entry("task", "world-categories", "study.evaluate.world_tasks:world_categories", "clusters are fields"),
    Entry("task", "world-outliers", "study.evaluate.world_tasks:world_outliers", "the odd word is found"),
    Entry("task", "world-similarity", "study.evaluate.world_tasks:world_similarity", "graded word pairs"),
    Entry("task", "world-sentences", "study.evaluate.world_tasks:world_sentences", "graded sentence pairs"),
    Entry("task", "world-classification", "study.evaluate.world_tasks:world_classification", "subjects"),
    Entry("task", "world-senses", "study.evaluate.in_context:world_senses", "ambiguous words in sentences"),
    Entry("task", "world-referents", "study.evaluate.in_context:world_referents", "referents of pronouns"),
    Entry("task", "world-translations", "study.evaluate.in_context:world_translations", "words translated"),
    Entry("analysis", "neighbors", "study.search.neighbors:neighbors", "the words nearest to a word"),
    Entry("analysis", "analogy", "study.search.analogy:analogy", 'words nearest to "king - man + woman"'),
    Entry("analysis", "vector", "study.search.vector:vector", "the vector of a word or of a formula"),
    Entry("analysis", "similarity", "study.search.similarity:similarity", "cosines of words or pairs"),
    Entry("analysis", "odd_one_out", "study.search.odd_one_out:odd_one_out", "the word that does not belong"),
    Entry("analysis", "rank", "study.search.rank:rank", "the rank of a word among neighbors"),
    Entry("analysis", "closer_than", "study.search.closer_than:closer_than", "words nearer than another"),
    Entry("analysis", "complete", "study.search.complete:complete", "words that begin so, or sound so"),
    Entry("analysis", "geometry", "study.search.geometry:geometry", "hubness and anisotropy of a space"),
    Entry("analysis", "evaluate", "study.evaluate.evaluate:evaluate", "scores on tasks with known answers"),
    Entry("analysis", "explain", "study.explain.explain:explain", "why two words are near"),
    Entry("analysis", "cooccurrence", "study.explain.cooccurrence:cooccurrence", "co-occurrence counts"),
    Entry("analysis", "fill", "study.explain.fill:fill", "words that fit a blank: 这是一个___的苹果"),
    Entry("analysis", "embed", "study.use.embed:embed", "texts to vectors, by words or by a model"),
    Entry("analysis", "text_similarity", "study.use.text_similarity:text_similarity", "texts: WMD, cosine"),
    Entry("analysis", "distill", "study.use.distill:distill", "a model made into word vectors", "neural"),
    Entry("analysis", "next", "study.use.next:next", "what comes next: 从前有一座", "neural"),
    Entry("analysis", "generate", "study.use.generate:generate", "a text continued by a model", "neural"),
    Entry("analysis", "translate", "study.use.translate:translate", "texts translated", "neural"),
    Entry("analysis", "axis", "study.explain.axis:axis", "where words lie between two lists of words"),
    Entry("analysis", "dimensions", "study.explain.dimensions:dimensions", "scores without some dimensions"),
    Entry("analysis", "probe", "study.probe.probe:probe", "what the layers of a model know"),
    Entry("analysis", "senses", "study.probe.senses:senses", "the senses of a word in a text", "neural"),
    Entry("analysis", "drift", "study.probe.drift:drift", "one word through the layers, in sentences"),
    Entry("analysis", "lens", "study.probe.lens:lens", "words near hidden states, by layer", "neural"),
    Entry("analysis", "referents", "study.probe.referents:referents", "what pronouns refer to", "neural"),
    Entry("analysis", "inspect", "study.explain.inspect:inspect", "tables and memory of a checkpoint"),
    Entry("analysis", "compare", "study.compare.compare:compare", "what changed between two spaces"),
    Entry("analysis", "changes", "study.compare.changes:changes", "neighbors kept, lost and gained"),
    Entry("analysis", "stability", "study.compare.changes:stability", "neighbors that several runs agree on"),
    Entry("analysis", "align", "study.compare.align:align", "one space aligned to another by a dictionary"),
    Entry("analysis", "doctor", "study.doctor.doctor:doctor", "what is wrong with a space, and what to do"),
    Entry("analysis", "attend", "study.attend.attend:attend", "what each word attends to", "neural"),
    Entry("analysis", "attend_step", "study.attend.step:attend_step", "one attention by steps", "neural"),
    Entry("analysis", "heads", "study.attend.heads:heads", "attention heads named by what they do", "neural"),
    Entry("analysis", "ablate", "study.attend.ablate:ablate", "a head or a layer left out", "neural"),
    Entry("analysis", "attribute", "study.attend.attribute:attribute", "what an answer is due to", "neural"),
    Entry("analysis", "map", "study.map.map:map", "words on a plane, and how far to trust the picture"),
    Entry("analysis", "map_texts", "study.map.texts:map_texts", "texts on a plane, by label"),
    Entry("picture", "matrix", "study.draw.matrix:Matrix", "a matrix as a change of space"),
    Entry("picture", "onehot", "study.draw.onehot:OneHotDistances", "one-hot vectors are equidistant"),
    Entry("picture", "ids", "study.draw.ids:Ids", "ids on one axis collide when they are added"),
    Entry("picture", "dot-products", "study.draw.dot_products:DotProducts", "scores divided by sqrt(d)"),
    Entry("picture", "heads", "study.draw.heads:Heads", "multi-head attention as slices"),
    Entry("picture", "sinusoidal", "study.draw.sinusoidal:SinusoidalPositions", "products by distance"),
    Entry("picture", "rotary", "study.draw.rotary:RotaryPositions", "rotations, and scores by distance"),
    Entry("picture", "feed-forward", "study.draw.feed_forward:FeedForwardSpace", "what width separates"),
    Entry("picture", "layer-norm", "study.draw.layer_norm:LayerNormFeatures", "each token over its features"),
    Entry("family", "bert", "neural.families.bert:BERT", "masked language models and sentence encoders"),
    Entry("family", "roberta", "neural.families.roberta:ROBERTA", "BERT with byte-level BPE"),
    Entry("family", "xlm-roberta", "neural.families.xlm_roberta:XLM_ROBERTA", "RoBERTa in many languages"),
    Entry("family", "camembert", "neural.families.camembert:CAMEMBERT", "RoBERTa for French"),
    Entry("family", "mpnet", "neural.families.mpnet:MPNET", "RoBERTa with T5's distance biases"),
    Entry("family", "distilbert", "neural.families.distilbert:DISTILBERT", "BERT with half the layers"),
    Entry("family", "electra", "neural.families.electra:ELECTRA", "BERT trained to tell replaced tokens"),
    Entry("family", "ernie", "neural.families.ernie:ERNIE", "BERT with a vector for the task"),
    Entry("family", "modernbert", "neural.families.modernbert:MODERNBERT", "BERT for long texts"),
    Entry("family", "nomic_bert", "neural.families.nomic_bert:NOMIC_BERT", "BERT with rotary positions"),
    Entry("family", "gpt2", "neural.families.gpt2:GPT2", "causal language models with learned positions"),
    Entry("family", "llama", "neural.families.llama:LLAMA", "causal language models with rotary positions"),
    Entry("family", "qwen2", "neural.families.qwen2:QWEN2", "Llama with biases in query, key and value"),
    Entry("family", "qwen3", "neural.families.qwen3:QWEN3", "Llama with norms of queries and keys"),
    Entry("family", "mistral", "neural.families.mistral:MISTRAL", "Llama with a sliding window"),
    Entry("family", "gemma3_text", "neural.families.gemma3_text:GEMMA3", "Gemma 3, causal or encoder"),
    Entry("family", "t5", "neural.families.t5:T5", "text to text, with relative positions"),
    Entry("family", "mt5", "neural.families.mt5:MT5", "multilingual T5, gated and not scaled"),
    Entry("family", "marian", "neural.families.marian:MARIAN", "translation: the original Transformer"),
    Entry("family", "elmo", "neural.families.elmo:ELMO", "LSTM language models over characters"),
    Entry("family", "inlaid", "neural.families.own:OWN", "any other network, in Inlaid's own folders"),
    Entry("position", "none", "neural.encodings:NONE", "no positions: a text is a set of tokens"),
    Entry("position", "learned", "neural.encodings:LEARNED", "one learned vector for each position"),
    Entry("position", "sinusoidal", "neural.encodings:SINUSOIDAL", "sines and cosines added to the input"),
    Entry("position", "shaw", "neural.encodings:SHAW", "a learned vector for each distance"),
    Entry("position", "t5", "neural.encodings:BUCKETS", "a learned bias per head and bucket of distances"),
    Entry("position", "learned-t5", "neural.encodings:LEARNED_BUCKETS", "learned vectors and biases of t5"),
    Entry("position", "transformer-xl", "neural.encodings:TRANSFORMER_XL", "projected sinusoidal distances"),
    Entry("position", "alibi", "neural.encodings:ALIBI", "a linear penalty of the distance in each head"),
    Entry("position", "rotary", "neural.encodings:ROTARY", "queries and keys rotated by their positions"),
)
ALIASES = (
    Alias("method", "sgns", "word2vec", {}),
    Alias("method", "sgns", "skipgram skip-gram", {"objective": "skipgram"}),
    Alias("method", "sgns", "cbow", {"objective": "cbow"}),
    Alias("method", "onehot", "one-hot one_hot"),
    Alias("method", "ppmi", "pmi lsa svd"),
    Alias("method", "bilm", "elmo"),
    Alias("classifier", "ngrams", "classifier fasttext supervised", {}),
    Alias("classifier", "logistic", "regression linear"),
    Alias(
        "analysis",
        "neighbors",
        "most_similar similar_by_word similar_by_vector get_nearest_neighbors nearest similar nn",
    ),
    Alias("analysis", "analogy", "analogies formula get_analogies most_similar_cosmul"),
    Alias("analysis", "vector", "get_vector get_word_vector word_vec embedding"),
    Alias("analysis", "embed", "encode sentence_vector get_sentence_vector"),
    Alias("analysis", "text_similarity", "wmd wmdistance word_mover"),
    Alias("analysis", "distill", "distil model2vec distillation"),
    Alias("analysis", "next", "predict next_token next_word"),
    Alias("analysis", "generate", "continue chat"),
    Alias("analysis", "translate", "translation mt"),
    Alias("analysis", "similarity", "cosine distance get_similarity n_similarity"),
    Alias("analysis", "odd_one_out", "doesnt_match outlier"),
    Alias("analysis", "closer_than", "words_closer_than nodes_closer_than"),
    Alias("analysis", "geometry", "hubness anisotropy isotropy hubs"),
    Alias("analysis", "evaluate", "score benchmark evaluate_word_pairs evaluate_word_analogies test"),
    Alias("analysis", "cooccurrence", "counts cooccurrences"),
    Alias("analysis", "fill", "predict_output_word fill_mask mask"),
    Alias("analysis", "axis", "weat bias"),
    Alias("analysis", "probe", "probing diagnostic selectivity"),
    Alias("analysis", "senses", "wsi wsd polysemy sense"),
    Alias("analysis", "lens", "logit_lens"),
    Alias("analysis", "ablate", "ablation prune knockout"),
    Alias("analysis", "attend", "attention bertviz"),
    Alias("analysis", "compare", "diff"),
    Alias("analysis", "align", "procrustes muse vecmap"),
    Alias("analysis", "doctor", "check diagnose"),
    Alias("analysis", "map", "plot tsne umap pca"),
)


def entries(*kinds: str) -> tuple[Entry, ...]:
    """All entries of some kinds, in their written order."""
    return tuple(entry for entry in ENTRIES if entry.kind in kinds)


def entry(kind: str, name: str, *others: str) -> Entry:
    """The entry of this name or accepted alias, of one kind or of others; a wrong name raises UnknownName
    with the closest right one."""
    kinds = (kind, *others)
    name = unicodedata.normalize("NFKC", name)  # as a Chinese input method types it
    for each in ENTRIES:
        if name == each.name and each.kind in kinds:
            return each
    found = entries(*kinds)
    for each in found:
        if accepted(each.kind, name, each.name) is not None:
            return each
    raise UnknownName(
        "No {kind} is called '{name}'.{hint}", kind=word(kind), name=name, hint=suggestion(name, found)
    )


def accepted(kind: str, typed: str, name: str) -> Mapping[str, Any] | None:
    """The settings that `typed` stands for as an alias of the entry `name`; None where it is not accepted."""
    for alias in ALIASES:
        if (alias.kind, alias.name) == (kind, name) and typed in alias.typed.split():
            return alias.settings
    return None


def suggestion(name: str, among: Sequence[Entry]) -> Message:
    """A sentence with the name that was meant, by an alias or by spelling; otherwise with all names."""
    known = {(each.kind, each.name) for each in among}
    meant = {each.name: each.name for each in among}
    for alias in ALIASES:
        if (alias.kind, alias.name) in known:
            for typed in alias.typed.split():
                meant[typed] = alias.name if alias.settings is None else typed
    close = did_you_mean(name, meant).values.get("close")
    if close is None:
        return Message(" There are: {names}.", names=Listed(each.name for each in among))
    return Message(" Did you mean '{close}'?", close=meant[close])


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
