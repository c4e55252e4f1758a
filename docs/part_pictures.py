"""The pictures of the parts of a network: embedding, positions, attention, blocks; computed by the parts they
show."""

from __future__ import annotations

import functools
from typing import Any

import torch
from drawing import BLUE, DARK, ORANGE, SHADES, SIGNS, Picture, Say, box, cells, curves
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from inlaid.neural.attention import Attention, View, causal_mask
from inlaid.neural.config import make_config
from inlaid.neural.decoder import Decoder
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.positions import Alibi, BucketBias, sinusoids
from inlaid.neural.rotary import Rotary


def embedding(figure: Figure, say: Say) -> None:
    """One-hot rows times a table are rows of the table."""
    torch.manual_seed(123)
    words = say("you like cat I dog hug", "你 喜欢 猫 我 狗 抱").split()
    table = TokenEmbedding(6, 3).weight.detach()
    ids = torch.tensor([3, 1, 4])
    chosen = [words[id] for id in ids]
    hot = torch.nn.functional.one_hot(ids, 6).float()
    axes = figure.subplots(1, 3, width_ratios=[6, 3.3, 3.3])
    cells(axes[0], hot, "{:.0f}", SHADES, (0, 1.4), rows=chosen, columns=words)
    cells(axes[1], table, "{:.2f}", SIGNS, (-3, 3), rows=words)
    cells(axes[2], hot @ table, "{:.2f}", SIGNS, (-3, 3), rows=chosen)
    for row in ids.tolist():
        axes[1].add_patch(
            Rectangle((-0.47, row - 0.45), 2.94, 0.9, fill=False, edgecolor=DARK, linewidth=1.6)
        )
    for axis, title in zip(
        axes,
        (say("one-hot", "独热"), say("×   table", "×   表"), say("=   rows", "=   取出的行")),
        strict=True,
    ):
        axis.set_title(title, fontsize=13, pad=22 if axis is axes[0] else 8)


def positions(figure: Figure, say: Say) -> None:
    """The table of sinusoids, and three relative encodings by distance."""
    (waves, turned), (penalty, buckets) = figure.subplots(2, 2)
    waves.imshow(
        sinusoids(torch.arange(100), 32, "halves").T.numpy(),
        cmap=SIGNS,
        aspect="auto",
        interpolation="nearest",
    )
    waves.set(
        title=say("sinusoidal: the table", "正弦：整张表"),
        xlabel=say("position", "位置"),
        ylabel=say("dimension", "维度"),
    )
    away = torch.arange(200)[None]
    for base, color in ((10_000.0, BLUE), (500_000.0, ORANGE)):
        rotary = Rotary(64, base=base, max_length=200)
        ones = torch.ones(1, 1, 200, 64)
        score = (
            rotary.rotate(ones[:, :, :1], rotary.rotation(away[:, :1]))
            @ rotary.rotate(ones, rotary.rotation(away)).transpose(-1, -2)
            / 64
        )
        turned.plot(score.flatten(), color=color, label=say(f"base {base:,.0f}", f"底数 {base:,.0f}"))
    turned.set(
        title=say("rotary: the score of two vectors of ones", "旋转：两个全 1 向量的得分"), ylim=(0, 1.05)
    )
    for head, bias in enumerate(Alibi(8).bias(torch.tensor([[199]]), away)[0, ::2, 0].flip(-1)):
        penalty.plot(
            bias, color=SHADES(1 - 0.22 * head), label=say(f"head {2 * head + 1}", f"第 {2 * head + 1} 头")
        )
    penalty.set(title=say("ALiBi: added to the score", "ALiBi：加到得分上的线性偏置"), ylim=(-20, 0.8))
    for both, color, words in (
        (False, BLUE, say("causal", "因果")),
        (True, ORANGE, say("bidirectional", "双向")),
    ):
        buckets.step(
            range(200),
            BucketBias(1, bidirectional=both).bucket(-away)[0],
            where="post",
            color=color,
            label=words,
        )
    buckets.set(title=say("T5: the bucket of its learned bias", "T5：可学习偏置的桶号"))
    for axis in (turned, penalty, buckets):
        axis.set_xlabel(say("distance", "距离"))
        curves(axis)


def attention(figure: Figure, say: Say) -> None:
    """The weights of one head: all visible, a causal mask, and padding on the left as well."""
    torch.manual_seed(6)
    words = say("a cat saw my dog", "猫 看见 了 一只 狗").split()
    layer = Attention(8, 1)
    x = 2.5 * torch.randn(1, 5, 8)
    places = torch.arange(5)[None]
    causal = causal_mask(5, 5, torch.device("cpu"))
    real = torch.tensor([False, False, True, True, True])
    panels = (
        (say("encoder: all visible", "编码器：全部可见"), torch.ones(5, 5, dtype=torch.bool), words),
        (say("decoder: causal mask", "解码器：因果掩码"), causal, words),
        (
            say("the same, padded on the left", "同上，左侧填充"),
            causal & real,
            [say("pad", "填充")] * 2 + words[:3],
        ),
    )
    for axis, (title, mask, labels) in zip(figure.subplots(1, 3), panels, strict=True):
        given = x if labels == words else torch.cat([x[:, 3:], x[:, :3]], 1)
        weights = (
            layer(given, View(places, places, mask[None, None]), need_weights=True).weights[0, 0].detach()
        )
        cells(
            axis, weights.masked_fill(~mask, torch.nan), "{:.2f}", SHADES, (0, 1), rows=labels, columns=labels
        )
        axis.set_facecolor("#f1f3f5")
        axis.set_title(title, pad=22)
        axis.set_ylabel(say("query", "查询") if axis.get_subplotspec().is_first_col() else "")


def blocks(figure: Figure, say: Say) -> None:
    """Pre-norm and post-norm, and how they learn without warm-up."""
    post, pre, losses = figure.subplots(1, 3, width_ratios=[0.8, 0.8, 2.2])
    _ladder(post, say("post-norm (2017)", "后归一化（2017）"), say, pre=False)
    _ladder(pre, say("pre-norm", "前归一化"), say, pre=True)
    runs = (
        ("post", 0, ORANGE, "-", say("post-norm", "后归一化")),
        (
            "post",
            100,
            ORANGE,
            ":",
            say("post-norm, 100 steps of warm-up", "后归一化，学习率预热 100 步"),
        ),
        ("pre", 0, BLUE, "-", say("pre-norm", "前归一化")),
    )
    for placement, warm_up, color, line, words in runs:
        for seed in (1, 2, 3):
            losses.plot(
                learn(placement, warm_up, seed),
                color=color,
                linestyle=line,
                linewidth=1.3,
                label=words if seed == 1 else None,
            )
    losses.set(
        title=say("loss of 16 blocks, three seeds", "16 层的损失，三个随机种子"),
        xlabel=say("step", "步"),
        ylim=(0, 3.2),
    )
    curves(losses)


@functools.cache
def learn(placement: str, warm_up: int, seed: int, steps: int = 160) -> list[float]:
    """The losses of a deep, narrow decoder that learns to count by ones, twos or threes, with or without
    warm-up of the learning rate."""
    torch.manual_seed(seed)
    config = make_config(
        {
            "kind": "decoder",
            "vocab_size": 9,
            "dim": 32,
            "layers": 16,
            "attention.heads": 4,
            "feed_forward.dim": 64,
            "norm.placement": placement,
            "norm.final": placement == "pre",
        }
    )
    network = Decoder(config)
    losses = list[float]()
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / max(warm_up, 1))
    )
    for _ in range(steps):
        texts = (torch.randint(0, 9, (16, 1)) + torch.arange(9) * torch.randint(1, 4, (16, 1))) % 9
        loss = torch.nn.functional.cross_entropy(
            network(texts[:, :-1]).logits[:, 1:].flatten(0, 1), texts[:, 2:].flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def _ladder(axis: Any, title: str, say: Say, *, pre: bool) -> None:
    """The residual stream upward, sublayers to its right; the norm is in the branch or on the stream."""
    names = (say("attention", "注意力"), say("feed-forward", "前馈"))
    axis.set(xlim=(-0.45, 2), ylim=(-0.3, 6.9), title=title)
    axis.axis("off")
    axis.annotate("", (0, 6.8), (0, -0.2), arrowprops={"arrowstyle": "->", "color": BLUE, "linewidth": 2.4})
    for number, name in enumerate(names):
        low = 3.3 * number
        if pre:
            box(axis, 1.15, low + 0.85, say("norm", "归一化"), ORANGE)
        else:
            box(axis, 0, low + 2.85, say("norm", "归一化"), ORANGE)
        box(axis, 1.15, low + (1.6 if pre else 1.2), name, DARK)
        axis.plot(
            [0, 1.15, 1.15, 0.16],
            [low + 0.3, low + 0.3, low + 2.2, low + 2.2],
            color=DARK,
            linewidth=1,
            zorder=0,
        )
        axis.text(
            0,
            low + 2.2,
            "+",
            ha="center",
            va="center",
            bbox={"boxstyle": "circle,pad=0.15", "fc": "white", "ec": BLUE},
        )


PICTURES: dict[Picture, tuple[float, float]] = {
    embedding: (8.2, 3.0),
    positions: (9, 5.4),
    attention: (9.6, 3.45),
    blocks: (10, 3.4),
}
"""Each picture, and its size in inches."""
