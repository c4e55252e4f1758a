"""Habits: what gensim, fastText, GloVe and others call a setting, and what it is called here.

One table for keyword arguments, flags and TOML keys. A name is compared without case, dashes and underscores:
`vector-size`, `vectorSize` and `vector_size` are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from inlaid.messages import Message

NOTHING = Message("")


@dataclass(frozen=True)
class Habit:
    """One setting, and what others call it."""

    typed: str
    """The names that others have for it, separated by spaces."""
    setting: str = ""
    """Its name here; empty where there is no such setting."""
    more: Message = NOTHING
    """What else a user of the other tool must know: what its values are here, or why there is none."""


REPORTED = Message(" Progress is always reported: leave it out.")
TEXT_FIRST = Message(" The text is named first, without a flag or a keyword.")
HABITS = (
    Habit("vector_size size dimension dimensions embedding_dim n_components hidden_size d_model", "dim"),
    Habit("window_size ws", "window"),
    Habit("alpha lr eta start_alpha", "learning_rate"),
    Habit("negative neg num_negatives", "negatives"),
    Habit("sample t", "subsample"),
    Habit("ns_exponent", "noise_exponent"),
    Habit("iter epoch iterations n_epochs num_epochs num_train_epochs", "epochs"),
    Habit("thread threads num_threads n_jobs jobs", "workers"),
    Habit("minn", "min_n"),
    Habit("maxn", "max_n"),
    Habit("bucket", "buckets"),
    Habit("ngrams word_ngram", "word_ngrams"),
    Habit("sg", "objective", Message(" 1 is skipgram, 0 is cbow.")),
    Habit("cbow", "objective", Message(" 1 is cbow, 0 is skipgram.")),
    Habit("model", "objective"),
    Habit("cbow_mean", "cbow_combine", Message(" 1 is mean, 0 is sum.")),
    Habit("max_vocab_size max_final_vocab max_vocab", "max_size"),
    Habit("pretrained_vectors load_init_param", "init_from"),
    Habit("random_state random_seed", "seed"),
    Habit("vocab_size", "subwords"),
    Habit("num_layers num_hidden_layers n_layer", "layers"),
    Habit("num_heads num_attention_heads n_head", "heads"),
    Habit("delimiter connector", "joiner"),
    Habit("scoring", "score"),
    Habit("topn topk k", "n"),
    Habit("encoding", "charset"),
    Habit("charset", "encoding"),
    Habit("save_file output_file", "output"),
    Habit("min_alpha", more=Message(" The learning rate falls to almost zero: leave it out.")),
    Habit("lr_update_rate", more=Message(" The learning rate falls with every word: leave it out.")),
    Habit("hs", more=Message(" Hierarchical softmax is not offered; negative sampling is the default.")),
    Habit("loss", more=Message(" Words are trained with negative sampling, classifiers with a softmax.")),
    Habit("sorted_vocab", more=Message(" Words are always sorted by count: leave it out.")),
    Habit("compute_loss", more=Message(" The loss is always computed: leave it out, and see the card.")),
    Habit("verbose debug callbacks", more=REPORTED),
    Habit("sentences corpus_file corpus_iterable input input_file train", more=TEXT_FIRST),
    Habit("label label_prefix", more=Message(" Labels of a text file start with __label__.")),
    Habit("binary write_header", more=Message(" The suffix of the output says its format.")),
    Habit("symmetric", more=Message(" Both sides of a window are always counted: leave it out.")),
    Habit("distance_weighting", more=Message(" A context d words away counts 1/d: leave it out.")),
)
"""Where a method has a setting of the same name, as glove has alpha, that setting is meant."""


def folded(name: str) -> str:
    """A name without what differs between tools: case, dashes and underscores."""
    return name.replace("-", "").replace("_", "").lower()


ATTRIBUTES = {
    "wv": "the vectors themselves",
    "index_to_key index2word get_words": "vectors.words",
    "key_to_index vocab": "vectors.id(word)",
    "vectors syn0": "vectors.table",
    "vector_size get_dimension": "vectors.dim",
    "get_vecattr get_count": "vectors.counts[vectors.id(word)]",
    "save_word2vec_format save_model": "vectors.save(path)",
    "get_normed_vectors": "vectors.unit",
    "syn1neg": "vectors.contexts",
}
"""What gensim and fastText call parts of their vectors, and where that is here."""
FUNCTIONS = {
    "Word2Vec FastText Doc2Vec": 'inlaid.train(text, "sgns")',
    "train_unsupervised": 'inlaid.train(text, "fasttext")',
    "KeyedVectors load_word2vec_format": "inlaid.load(path)",
    "train_supervised": "inlaid.train_classifier(path)",
    "Phraser": "inlaid.phrases(corpus)",
}
"""The same of names in a module."""


def place_of(name: str, places: Mapping[str, str]) -> str:
    """Where something is that others call `name`; empty where nobody does."""
    return next((place for typed, place in places.items() if name in typed.split()), "")


BY_NAME = {folded(typed): habit for habit in HABITS for typed in habit.typed.split()}


TRAINING = "min_count"
"""A setting that every training of words has: where it is known, a training is asked for."""


def habit_of(name: str, known: Iterable[str]) -> Habit | None:
    """The habit of calling a setting `name`, if it is among the `known` ones, or if a training has none; None
    where nobody is known to call anything so."""
    known = sorted(known)
    plain = folded(name)
    for setting in known:
        if folded(setting) == plain:
            return Habit(name, setting)
    habit = BY_NAME.get(plain)
    if habit is None:
        return None
    needed = habit.setting or TRAINING
    return habit if needed in known else None
