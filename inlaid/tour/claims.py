"""Claims that are often repeated and wrong or half true, each with a measured answer.

Every function returns a `Measured`: what is claimed and what was found, with the seed, and an interval where
something was sampled.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.study.compare.procrustes import normalized, procrustes
from inlaid.study.evaluate.evaluate import evaluate
from inlaid.study.evaluate.statistics import student
from inlaid.study.explain import pseudo_inverse as inverse
from inlaid.study.explain.dimensions import keep_dimensions, rotated
from inlaid.study.explain.traits import trait_name, traits
from inlaid.vectors import Vectors

DATA = "INLAID_DATA"
"""The variable that names a folder of real data."""
BERT_VOCABULARY = Path("vocab_bert_chinese") / "vocab.txt"
EIGHT = ("猫", "狗", "苹果", "橙子", "国王", "王后", "男人", "女人")


@dataclass(frozen=True)
class Line:
    """A quantity and its value."""

    name: Message
    value: str | Message


@dataclass(frozen=True)
class Measured:
    """What was found: quantities and their values."""

    lines: tuple[Line, ...]

    def rows(self) -> list[tuple[Message | str, ...]]:
        header = (Message("quantity"), Message("value"))
        return [header, *((each.name, each.value) for each in self.lines)]

    def to_dict(self) -> dict[str, str]:
        return {each.name.sentence: _in_english(each.value) for each in self.lines}


def _in_english(value: str | Message) -> str:
    return value.in_language("en") if isinstance(value, Message) else value


def _random(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def softmax_of_scores() -> Measured:
    """Claim: "softmax([3.2, 12.3, 38.5, 3.0] / sqrt(64)) = [0.05, 0.15, 0.75, 0.05]": computed."""
    scores = np.array([3.2, 12.3, 38.5, 3.0])
    return Measured(
        (
            Line(Message("told"), "0.05 0.15 0.75 0.05"),
            Line(Message("computed, scores divided by 8"), _numbers(softmax(scores / 8), 3)),
            Line(Message("computed, scores not divided"), _numbers(softmax(scores), 3)),
        )
    )


def scores_by_dim(dims: Sequence[int] = (4, 64, 1024), *, draws: int = 4000, seed: int = 1) -> Measured:
    """The variance of q·k for independent standard normal q and k, and how peaked the softmax of ten scores
    is; with and without the division by sqrt(d). Also E[XY] of two of their numbers: 0, not 1."""
    random = _random(seed)
    lines: list[Line] = []
    for dim in dims:
        queries = random.standard_normal((draws // 10, 1, dim))
        keys = random.standard_normal((draws // 10, 10, dim))
        scores = (queries * keys).sum(-1)
        largest = softmax(scores).max(-1).mean()
        scaled = softmax(scores / np.sqrt(dim)).max(-1).mean()
        value = f"{scores.var():.1f} / {(scores / np.sqrt(dim)).var():.2f}; {largest:.2f} / {scaled:.2f}"
        name = Message("d = {dim}: variance of q·k, not divided / divided; largest weight of ten", dim=dim)
        lines.append(Line(name, value))
    products = random.standard_normal(draws) * random.standard_normal(draws)
    half = 1.96 * products.std() / np.sqrt(draws)
    mean = f"{products.mean():+.3f} ({products.mean() - half:+.3f}, {products.mean() + half:+.3f})"
    lines.append(Line(Message("E[XY] of independent standard normals, 95 %: told 1"), mean))
    lines.append(Line(Message("their variance"), f"{products.var():.2f}"))
    return Measured(tuple(lines))


def orthogonal_query() -> Measured:
    """Claim: "Orthogonal q and k score highest": they score 0. "8 heads of 64 make 768": 12 do."""
    query = np.array([1.0, 0.0])
    keys = {"q": [1, 0], "45°": [2**-0.5, 2**-0.5], "90°": [0, 1], "180°": [-1, 0]}
    scores = " ".join(f"{name}: {float(query @ np.array(key)):+.2f}" for name, key in keys.items())
    return Measured(
        (
            Line(Message("q·k by the angle between them"), scores),
            Line(
                Message("8 heads of 64, 12 heads of 64, width of 8 heads in 768"),
                f"{8 * 64} {12 * 64} {768 // 8}",
            ),
        )
    )


def output_table(vectors: Vectors) -> Measured:
    """Claim: "The output matrix of Word2Vec is the inverse of the input matrix". How far it is from it."""
    found = inverse.pseudo_inverse(vectors)
    return Measured(
        (
            Line(Message("cosine of W' and pinv(W): 1 if the claim held"), f"{found.cosine:+.3f}"),
            Line(Message("share of W' that pinv(W) leaves unexplained"), f"{found.missed:.3f}"),
            Line(Message("the same for the best linear map of pinv(W)"), f"{found.missed_by_any:.3f}"),
        )
    )


def layer_norm(*, tokens: int = 6, dim: int = 32, seed: int = 1) -> Measured:
    """Claim: "LayerNorm normalises a whole sentence together". One token is changed: which outputs
    change?"""
    import torch

    torch_random = torch.Generator().manual_seed(seed)
    sentence = 3 + 5 * torch.randn(1, tokens, dim, generator=torch_random)
    norm = torch.nn.LayerNorm(dim)
    with torch.no_grad():
        before = norm(sentence)
        changed = sentence.clone()
        changed[0, 0] *= torch.linspace(-9, 9, dim)
        after = norm(changed)
    difference = (after - before).abs().amax(-1)[0]
    return Measured(
        (
            Line(Message("largest change of the token that was changed"), f"{float(difference[0]):.3f}"),
            Line(Message("largest change of all other tokens"), f"{float(difference[1:].max()):.3f}"),
            Line(Message("mean and variance of each token"), _ranges(before[0])),
        )
    )


def _ranges(rows: Any) -> str:
    means = rows.mean(-1)
    variances = rows.var(-1, correction=0)
    return f"{float(means.abs().max()):.4f} / {float(variances.min()):.4f} – {float(variances.max()):.4f}"


def symmetric_map(source: Vectors, target: Vectors, pairs: Sequence[tuple[str, str]]) -> Measured:
    """Claim: "A symmetric matrix keeps inner products": orthogonal ones do. Measured on two languages."""
    known = [pair for pair in pairs if pair[0] in source and pair[1] in target]
    if len(known) < 2:
        raise SettingError("{count} word pairs are in both spaces; expected at least 2.", count=len(known))
    x = normalized(source.rows([source.id(one) for one, _ in known]))
    y = normalized(target.rows([target.id(two) for _, two in known]))
    rotation = procrustes(x, y).astype(np.float64)
    any_map = np.linalg.lstsq(x, y, rcond=None)[0]
    symmetric = (any_map + any_map.T) / 2
    gram = x @ x.T
    lines: list[Line] = []
    names = {
        "orthogonal": Message("orthogonal matrix (Procrustes): largest change of an inner product"),
        "symmetric": Message("symmetric matrix: largest change of an inner product"),
    }
    for name, matrix in (("orthogonal", rotation), ("symmetric", symmetric)):
        mapped = x @ matrix
        lines.append(Line(names[name], f"{np.abs(mapped @ mapped.T - gram).max():.4f}"))
    return Measured((*lines, Line(Message("word pairs"), str(len(known)))))


def lower_dimension(*, seed: int = 1) -> Measured:
    """Claim: "A linear map keeps different points different": only if it is injective."""
    matrix = _random(seed).standard_normal((3, 2))
    lost = np.linalg.svd(matrix.T)[2][-1]
    point = np.array([1.0, 2.0, 3.0])
    apart = np.linalg.norm(lost @ matrix)
    square = _random(seed).standard_normal((3, 3))
    return Measured(
        (
            Line(Message("two points, distance before"), f"{np.linalg.norm((point + lost) - point):.3f}"),
            Line(Message("after a map from 3 to 2 dimensions"), f"{apart:.3f}"),
            Line(Message("after a map of full rank from 3 to 3"), f"{np.linalg.norm(lost @ square):.3f}"),
        )
    )


def single_dimensions(vectors: Vectors, *, seed: int = 1, runs: int = 5) -> Measured:
    """Claim: "Each dimension has a meaning", and "no dimension means anything". The strongest correlation
    of a dimension with anything known, before and after a random rotation that changes no cosine; and the
    score with half of the dimensions."""
    turned = rotated(vectors, seed=seed)
    random = _random(seed)
    halves = [
        _fields(keep_dimensions(vectors, random.permutation(vectors.dim)[: vectors.dim // 2]))
        for _ in range(runs)
    ]
    interval = student(halves)
    half = f"{np.mean(halves):.3f} ({interval.low:.3f}, {interval.high:.3f})"
    return Measured(
        (
            Line(Message("strongest correlation of one dimension"), _strongest(vectors)),
            Line(Message("the same after a random rotation"), _strongest(turned)),
            Line(Message("nearest word of the same field, all dimensions"), f"{_fields(vectors):.3f}"),
            Line(Message("after the rotation"), f"{_fields(turned):.3f}"),
            Line(Message("with a random half of the dimensions, 95 % over runs"), half),
        )
    )


def _strongest(vectors: Vectors) -> Message:
    """The strongest correlation of a dimension with log frequency, length of the word, or a field."""
    found = max(traits(vectors), key=lambda each: abs(each.correlation))
    return Message(
        "{correlation:+.2f} ({trait})", correlation=found.correlation, trait=trait_name(found.trait)
    )


def _fields(vectors: Vectors) -> float:
    return evaluate(vectors, ["world-fields"])[0].value


def bert_chinese(path: Path | None = None) -> Measured:
    """Eight words of the usual picture, and whether bert-base-chinese's vocabulary has them as they are.

    That vocabulary has Chinese only as single characters. With the file (`path`, or the folder that
    INLAID_DATA names) the words are looked up in it; without, by their number of characters.
    """
    if path is None and os.environ.get(DATA):
        path = Path(os.environ[DATA]) / BERT_VOCABULARY
    if path is not None and path.is_file():
        known = set(path.read_text("utf-8").split("\n"))
        found = [word for word in EIGHT if word in known]
        where = Message("looked up in vocab.txt")
    else:
        found = [word for word in EIGHT if len(word) == 1]
        where = Message("by rule: it has single characters only")
    missing = [word for word in EIGHT if word not in found]
    return Measured(
        (
            Line(Message("words with a row of their own"), " ".join(found)),
            Line(Message("words that become [UNK] when looked up whole"), " ".join(missing)),
            Line(where, f"{len(missing)} / {len(EIGHT)}"),
        )
    )


def _numbers(values: np.ndarray, digits: int) -> str:
    return " ".join(f"{each:.{digits}f}" for each in values.tolist())
