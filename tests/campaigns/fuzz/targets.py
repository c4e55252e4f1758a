"""Targets: for each kind of file, its samples, how they are changed, and what is done with a mutant.

A mutant is not only opened. Vectors are read whole and asked for neighbors, a corpus is trained on, a
checkpoint is resumed, a model embeds a sentence: that is where a number out of bounds would be used.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import inlaid
from fuzz import repack, samples, structure
from fuzz.bytes import lines, raw
from inlaid import registry
from inlaid.errors import InlaidError, OutOfVocabulary
from inlaid.jobs.safety import Safety
from inlaid.report import silent
from inlaid.vectors import Vectors

Change = Callable[[bytes, Random], bytes]
Changes = Mapping[str, tuple[tuple[str, Change], ...]]
"""The kind of mutation -> the files it applies to, as a pattern, and the function that changes them."""
BAD = ("wrong", "traceback", "crash", "hang", "memory")
OUTCOMES = ("refused", "same", "read", *BAD)
RAW: Changes = {"raw": (("*", raw),)}
JSON = (("*.json", structure.json_text),)
SAFETENSORS = (("*.safetensors", structure.safetensors_header),)


@dataclass(frozen=True)
class Sample:
    """Valid files, and what is done with them after one was changed."""

    path: Path
    read: Callable[[Path], Any]
    """Reads everything and uses it; returns what was read, to be compared."""
    changes: Changes
    exact: tuple[str, ...] = ()
    """Kinds of mutation after which a file is refused or read as before, because its checksums tell."""

    def files(self) -> list[Path]:
        if self.path.is_file():
            return [self.path]
        return sorted(each for each in self.path.rglob("*") if each.is_file())


@dataclass(frozen=True)
class Target:
    name: str
    make: Callable[[Path], Iterable[Sample]]
    """Writes the samples into a folder."""
    needs: tuple[str, ...] = ()
    """Libraries without which it cannot be tested."""
    refusals: tuple[type[Exception], ...] = (InlaidError,)
    """Errors that refuse a file as they should."""
    like: str = ""
    """The target whose mutants these are; its own if empty."""
    kinds: tuple[str, ...] = ()
    """The kinds of mutants of it that are used; all if empty."""
    memory: int = 0
    """Memory that a library takes for any file, however small."""
    confirmed: tuple[str, ...] = BAD
    """Outcomes that are looked at twice."""

    def missing(self) -> str:
        return ", ".join(each for each in self.needs if importlib.util.find_spec(each) is None)


# What is done with a mutant


def use_vectors(path: Path) -> Any:
    found = inlaid.load(path, report=silent)
    content = contents(found)
    inlaid.neighbors(found, found.words[0], n=3)
    if found.subwords is not None:
        try:
            content.append(inlaid.vector(found, "wordless").to_dict())
        except OutOfVocabulary:
            content.append("unknown")
    return content


def contents(vectors: Vectors) -> list[Any]:
    """Everything in the vectors, read."""
    contexts = vectors.contexts
    if contexts is not None and not isinstance(contexts, np.ndarray):
        contexts = contexts.whole()
    held = (vectors.table, vectors.counts, contexts)
    return [list(vectors.words), vectors.card, *(None if each is None else each.tobytes() for each in held)]


def use_model(path: Path) -> Any:
    from inlaid.neural.checkpoint import load_model
    from inlaid.neural.generate import generate_texts
    from inlaid.neural.generation import GenerationSettings, resolve

    model = load_model(path)
    if model.config.kind == "bilm":
        return _use_elmo(model)
    embedded = model.embed(["the cat sits on 北京"])
    held = [embedded.tobytes(), model.input_vectors().table.tobytes(), model.card]
    if model.config.kind in ("decoder", "seq2seq"):
        held.append(generate_texts(model, ["the cat"], GenerationSettings(max_new_tokens=3)))
        if model.generation is not None:  # the file may ask for any number of tokens
            held.append(resolve(GenerationSettings(), model.generation, model.config, 2))
    return held


def _use_elmo(model: Any) -> Any:
    import torch

    from inlaid.neural.bilm import character_ids

    with torch.no_grad():
        found = model.network(*character_ids([["the", "cat"], ["北京"]]))
    return [layer.numpy().tobytes() for layer in found.layers]


def use_tokenizer(path: Path) -> Any:
    found = inlaid.tokenize("the cat sits on 北京 naïve 🙂", tokenizer_file=path)
    return [[token.text for token in found.tokens], found.ids]


METHODS: dict[str, dict[str, Any]] = {
    "sgns": {"dim": 4, "epochs": 2, "workers": 1},
    "cbow": {"dim": 4, "epochs": 1, "workers": 1},
    "fasttext": {"dim": 4, "epochs": 1, "workers": 1, "buckets": 100},
    "glove": {"dim": 4, "epochs": 2, "workers": 1},
    "ppmi": {"dim": 4},
}


def train_with(method: str) -> Callable[[Path], Any]:
    def train(path: Path) -> Any:
        corpus = inlaid.corpus(path, report=silent)
        vocabulary = corpus.vocabulary
        held = [
            corpus.ids.tobytes(),
            corpus.offsets.tobytes(),
            list(vocabulary.words),
            vocabulary.counts.tobytes(),
        ]
        trained = inlaid.train(corpus, method, report=silent, **METHODS[method])
        return [held, corpus.manifest, corpus.tokenizer_json, trained.table.tobytes()]

    return train


def resume(corpus: Any, method: str) -> Callable[[Path], Any]:
    def train(path: Path) -> Any:
        working = path.with_suffix(".resumed")  # the run removes its checkpoint in the end
        working.write_bytes(path.read_bytes())
        safety = Safety(checkpoint=working, resume=True)
        trained = inlaid.train(corpus, method, safety=safety, report=silent, **METHODS[method])
        return [trained.table.tobytes(), list(trained.words)]

    return train


def use_tasks(path: Path) -> Any:
    tasks = inlaid.read_tasks([path], silent)
    scores = inlaid.evaluate(samples.vectors(), tasks, report=silent) if tasks else None
    return [repr(tasks), repr(scores)]


def use_dictionary(path: Path) -> Any:
    from inlaid.study.compare.dictionaries import read_dictionary

    return read_dictionary(path)


def use_word_list(path: Path) -> Any:
    found = inlaid.tokenize("我喜欢自然语言处理和北京大学", dictionary=path)
    return [token.text for token in found.tokens]


def use_text(path: Path) -> Any:
    corpus = inlaid.corpus(path, min_count=1, workers=1, report=silent)
    return [corpus.ids.tobytes(), corpus.offsets.tobytes(), list(corpus.vocabulary.words)]


# Targets


def make_native(folder: Path) -> Iterator[Sample]:
    changes: Changes = {
        "raw": (("*", raw),),
        "resealed": (("*", repack.resealed),),
        "header": (("*", structure.safetensors_header),),
    }
    for name, value in (("plain", samples.vectors()), ("ngrams", samples.vectors(ngrams=True))):
        for dtype in ("float32", "float16", "int8"):
            path = samples.saved(folder / f"{name}-{dtype}.inlaid", "native", value, dtype=dtype)
            yield Sample(path, use_vectors, changes, exact=("raw", "header"))


def make_file(name: str, changes: Changes) -> Callable[[Path], Iterator[Sample]]:
    """The samples of a format that is one file."""

    def make(folder: Path) -> Iterator[Sample]:
        suffixes = registry.find("format", name).SUFFIXES or ("",)
        path = samples.saved(folder / f"vectors{suffixes[0]}", name, samples.vectors())
        yield Sample(path, use_vectors, changes)
        if "lines" in changes and name != "projector":
            path = samples.saved(folder / f"vectors{suffixes[0]}.gz", name, samples.vectors())
            yield Sample(path, use_vectors, RAW)

    return make


def make_fasttext(folder: Path) -> Iterator[Sample]:
    value = samples.vectors(ngrams=True)
    path = samples.saved(folder / "model.bin", "fasttext", value)
    yield Sample(path, use_vectors, RAW)
    quantized = folder / "model.ftz"
    quantized.write_bytes(samples.ftz(path.read_bytes(), len(value), 50, value.dim))
    yield Sample(quantized, use_vectors, {"quantized": (("*", raw),)})


def make_folder(name: str) -> Callable[[Path], Iterator[Sample]]:
    def make(folder: Path) -> Iterator[Sample]:
        changes: Changes = {**RAW, "json": JSON, "header": SAFETENSORS}
        yield Sample(samples.saved(folder / "one", name, samples.vectors()), use_vectors, changes)
        if name == "static-embedding":
            yield Sample(samples.sharded(folder / "sharded"), use_vectors, changes)

    return make


def make_pytorch(folder: Path) -> Iterator[Sample]:
    weights = "pytorch_model.bin"
    changes: Changes = {"raw": ((weights, raw),), "re-zipped": ((weights, repack.rezipped_pytorch),)}
    yield Sample(samples.pytorch(folder / "pytorch"), use_vectors, changes)


def make_hdf5(folder: Path) -> Iterator[Sample]:
    changes: Changes = {
        "raw": (("*.hdf5", raw),),
        "re-packed": (("*.hdf5", repack.repacked_hdf5),),
        "json": (("options.json", structure.json_text),),
    }
    yield Sample(samples.elmo(folder / "elmo"), use_model, changes)


def make_models(folder: Path) -> Iterator[Sample]:
    changes: Changes = {**RAW, "json": JSON, "header": SAFETENSORS}
    for family in (*samples.MODELS, "inlaid"):
        yield Sample(samples.model(folder / family, family), use_model, changes)
    for family in ("bert", "qwen3"):
        path = samples.sentence_model(folder / f"sentence-{family}", family)
        yield Sample(path, use_model, changes)


def make_tokenizers(folder: Path) -> Iterator[Sample]:
    from inlaid.encode.subwords import loading

    for kind, size in (("bpe", 300), ("wordpiece", 90)):
        path = folder / kind / "tokenizer.json"
        path.parent.mkdir()
        engine = samples.tokenizer(kind, size).engine
        path.write_text(engine.to_str(), "utf-8")
        yield Sample(path, use_tokenizer, {**RAW, "json": JSON})
        if kind == "bpe":
            gpt2 = folder / "gpt2"
            gpt2.mkdir()
            engine.model.save(str(gpt2))
            yield Sample(gpt2, use_tokenizer, {**RAW, "json": JSON, "lines": (("merges.txt", lines),)})
        if kind == "wordpiece":
            bert = folder / "bert"
            bert.mkdir()
            engine.model.save(str(bert))
            (bert / "tokenizer_config.json").write_text('{"do_lower_case": true}')
            yield Sample(bert, use_tokenizer, {**RAW, "json": JSON, "lines": (("vocab.txt", lines),)})
    for kind in ("unigram", "bpe"):
        path = folder / f"{kind}.model"
        path.write_bytes(samples.sentencepiece(kind))
        converted = folder / f"{kind}-converted" / "tokenizer.json"
        converted.parent.mkdir()
        converted.write_text(loading.load(path).engine.to_str(), "utf-8")
        yield Sample(converted, use_tokenizer, {**RAW, "json": JSON})
        yield Sample(path, use_tokenizer, {"protobuf": (("*", structure.protobuf),), **RAW})


def make_corpora(folder: Path) -> Iterator[Sample]:
    changes: Changes = {
        "raw": (("*", raw),),
        "resealed": (("corpus.safetensors", repack.resealed),),
        "header": SAFETENSORS,
    }
    for method in METHODS:
        settings = {"tokenizer": "bpe", "subwords": 300} if method == "cbow" else {"tokenizer": "whitespace"}
        path = samples.corpus(folder / method, **settings)
        yield Sample(path, train_with(method), changes, exact=("raw", "header"))


def make_checkpoints(folder: Path) -> Iterator[Sample]:
    corpus = inlaid.corpus(samples.corpus(folder / "corpus", tokenizer="whitespace"), report=silent)
    changes: Changes = {
        "raw": (("*", raw),),
        "resealed": (("*", repack.resealed),),
        "header": (("*", structure.safetensors_header),),
    }
    for method in ("sgns", "fasttext", "glove"):
        path = _interrupted(folder / f"{method}.checkpoint", corpus, method)
        yield Sample(path, resume(corpus, method), changes, exact=("raw", "header"))


def _interrupted(path: Path, corpus: Any, method: str) -> Path:
    """The first checkpoint of a run, kept."""
    from inlaid.jobs import checkpoint

    kept = path.with_suffix(".kept")
    save = checkpoint.save

    def keep(*arguments: Any) -> None:
        save(*arguments)
        if not kept.exists():
            kept.write_bytes(path.read_bytes())

    checkpoint.save = keep
    try:
        safety = Safety(checkpoint=path, checkpoint_minutes=0)
        inlaid.train(corpus, method, safety=safety, report=silent, **METHODS[method])
    finally:
        checkpoint.save = save
    path.write_bytes(repack.without_times(kept.read_bytes()))
    kept.unlink()
    return path


def make_tasks(folder: Path) -> Iterator[Sample]:
    yield from _texts(folder, samples.TASKS, use_tasks)


def make_dictionaries(folder: Path) -> Iterator[Sample]:
    pairs = {name: text for name, text in samples.DICTIONARIES.items() if name != "words.txt"}
    yield from _texts(folder, pairs, use_dictionary)
    yield from _texts(folder, {"words.txt": samples.DICTIONARIES["words.txt"]}, use_word_list)


def _texts(folder: Path, texts: Mapping[str, str], read: Callable[[Path], Any]) -> Iterator[Sample]:
    for name, text in texts.items():
        path = folder / name
        path.write_text(text, "utf-8")
        yield Sample(path, read, {"raw": (("*", raw),), "lines": (("*", lines),)})


def make_text(folder: Path) -> Iterator[Sample]:
    for name, data in samples.text_sources().items():
        path = folder / name
        path.write_bytes(data)
        changes: dict[str, Any] = dict(RAW)
        if name.endswith((".txt", ".csv", ".tsv", ".jsonl")):
            changes["lines"] = (("*", lines),)
        if name.endswith(".jsonl"):
            changes["json"] = (("*", _json_line),)
        if name.endswith(".parquet"):
            changes["re-packed"] = (("*", repack.repacked_parquet),)
        yield Sample(path, use_text, changes)


def _json_line(data: bytes, random: Random) -> bytes:
    rows = data.splitlines()
    row = random.randrange(len(rows))
    rows[row] = structure.json_text(rows[row], random)
    return b"\n".join(rows)


TEXT_FORMAT: Changes = {**RAW, "lines": (("*", lines),)}
FORMATS = (
    Target("native", make_native),
    Target("glove", make_file("glove", TEXT_FORMAT)),
    Target("word2vec-text", make_file("word2vec-text", TEXT_FORMAT)),
    Target("word2vec", make_file("word2vec", RAW)),
    Target("fasttext", make_fasttext),
    Target("static-embedding", make_folder("static-embedding"), ("tokenizers",)),
    Target("model2vec", make_folder("model2vec"), ("tokenizers",)),
    Target("projector", make_file("projector", TEXT_FORMAT)),
    Target("npz", make_file("npz", {**RAW, "re-zipped": (("*", repack.rezipped_npz),)})),
    Target(
        "parquet", make_file("parquet", {**RAW, "re-packed": (("*", repack.repacked_parquet),)}), ("pyarrow",)
    ),
)
OTHERS = (
    Target("pytorch", make_pytorch, ("torch", "tokenizers")),
    Target("hdf5", make_hdf5, ("torch", "h5py")),
    Target("models", make_models, ("torch", "tokenizers", "sentencepiece")),
    Target("tokenizers", make_tokenizers, ("tokenizers", "sentencepiece")),
    Target("corpus", make_corpora, ("tokenizers",)),
    Target("checkpoint", make_checkpoints),
    Target("tasks", make_tasks),
    Target("dictionaries", make_dictionaries),
    Target("text", make_text, memory=64 << 20),  # a corpus of a million short sentences takes as much
)
TARGETS = {target.name: target for target in (*FORMATS, *OTHERS)}


# Mutants


@dataclass(frozen=True)
class Mutant:
    sample: Sample
    kind: str
    file: Path
    data: bytes

    @property
    def exact(self) -> bool:
        return self.kind in self.sample.exact


TRIES = 50
LARGEST = 1 << 21
"""Bytes of a mutant: what is small must not take much, and what is large may."""


def kind_of(made: list[Sample], seed: int) -> str:
    kinds = list(dict.fromkeys(kind for sample in made for kind in sample.changes))
    return kinds[seed % len(kinds)]


def mutant(name: str, made: list[Sample], originals: Mapping[Path, bytes], seed: int) -> Mutant:
    """The mutant of a seed: the same on every machine with the same libraries."""
    kind = kind_of(made, seed)
    random = Random(f"{name} {seed}")
    able = [sample for sample in made if kind in sample.changes]
    for _ in range(TRIES):
        sample = random.choice(able)
        pattern, change = random.choice(sample.changes[kind])
        file = random.choice([each for each in sample.files() if each.match(pattern)])
        try:
            data = change(originals[file], random)
        except Exception:  # what a library refuses to write is no mutant
            continue
        if len(data) <= LARGEST:
            return Mutant(sample, kind, file, data)
    raise RuntimeError(f"{name} {seed}: no mutant in {TRIES} tries")


def originals_of(made: Iterable[Sample]) -> dict[Path, bytes]:
    return {file: file.read_bytes() for sample in made for file in sample.files()}
