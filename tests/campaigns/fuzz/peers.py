"""Other libraries on the same mutants, and Inlaid beside them.

An error of any kind refuses a file. What is read without one must be what was written: "wrong" counts the
files that gave other words or numbers. Mutants behind the checksums are left out: they are other files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzz import samples
from fuzz.bytes import raw
from fuzz.targets import BAD, TARGETS, Sample, Target, use_vectors

MEMORY = {"fastText": 256 << 20}
"""fastText has a table for 30 million words, whatever the file."""
KINDS = ("raw", "lines", "quantized", "header")


def gensim_binary(path: Path) -> Any:
    from gensim.models import KeyedVectors

    return _gensim(KeyedVectors.load_word2vec_format(str(path), binary=True))


def gensim_text(path: Path) -> Any:
    from gensim.models import KeyedVectors

    return _gensim(KeyedVectors.load_word2vec_format(str(path), binary=False))


def gensim_glove(path: Path) -> Any:
    from gensim.models import KeyedVectors

    return _gensim(KeyedVectors.load_word2vec_format(str(path), binary=False, no_header=True))


def gensim_own(path: Path) -> Any:
    from gensim.models import KeyedVectors

    return _gensim(KeyedVectors.load(str(path)))


def gensim_fasttext(path: Path) -> Any:
    from gensim.models.fasttext import load_facebook_vectors

    return _gensim(load_facebook_vectors(str(path)))


def _gensim(vectors: Any) -> Any:
    vectors.most_similar(vectors.index_to_key[0], topn=3)
    return [list(vectors.index_to_key), vectors.vectors.tobytes()]


def fasttext_model(path: Path) -> Any:
    import fasttext

    model = fasttext.FastText._FastText(str(path))
    words = model.get_words()
    return [words, *(model.get_word_vector(word).tobytes() for word in [*words, "wordless"])]


def safetensors_file(path: Path) -> Any:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return {name: file.get_tensor(name).tobytes() for name in sorted(file.keys())}


def make_keyed_vectors(folder: Path) -> Iterator[Sample]:
    from gensim.models import KeyedVectors

    value = samples.vectors()
    kept = KeyedVectors(value.dim)
    kept.add_vectors(list(value.words), value.table)
    kept.save(str(folder / "vectors.kv"))
    yield Sample(folder / "vectors.kv", gensim_own, {"raw": (("*", raw),)}, exact=KINDS)


def _same_mutants(library: str, format: str, read: Callable[[Path], Any], *needs: str) -> Target:
    """A library on the mutants of one of our targets."""
    target = TARGETS[format]

    def make(folder: Path) -> Iterator[Sample]:
        for sample in target.make(folder):
            yield replace(sample, read=read, exact=KINDS)

    return Target(
        f"{library} | {format}",
        make,
        (*target.needs, *needs),
        refusals=(Exception,),
        like=format,
        kinds=KINDS,
        memory=MEMORY.get(library, 0),
        confirmed=BAD if library == "Inlaid" else ("crash",),
    )


_TARGETS = (
    *(
        _same_mutants("Inlaid", format, use_vectors)
        for format in ("native", "word2vec", "word2vec-text", "glove", "fasttext")
    ),
    _same_mutants("safetensors", "native", safetensors_file, "safetensors"),
    _same_mutants("gensim", "word2vec", gensim_binary, "gensim"),
    _same_mutants("gensim", "word2vec-text", gensim_text, "gensim"),
    _same_mutants("gensim", "glove", gensim_glove, "gensim"),
    Target("gensim | KeyedVectors", make_keyed_vectors, ("gensim",), (Exception,), confirmed=("crash",)),
    _same_mutants("fastText", "fasttext", fasttext_model, "fasttext"),
)
LIBRARIES = {target.name: target for target in _TARGETS}
