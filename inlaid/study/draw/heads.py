"""Multi-head attention as slices: concatenation times W_o is the sum over heads of head times its slice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from inlaid.config import Range, Seed
from inlaid.errors import SettingError, need
from inlaid.study.draw.dot_products import softmax
from inlaid.study.draw.picture import Column, Numbers, Picture, Say
from inlaid.study.draw.shapes import BLUE, DARK, ORANGE, signs

COLORS = (BLUE, ORANGE, "#2b8a3e", "#9c36b5")


@dataclass(frozen=True, kw_only=True)
class Heads(Picture):
    """Every head attends on its own slice of the components. What it adds to the output is its part of the
    rows of W_o, so heads can be taken apart, and removed one by one."""

    title: ClassVar = ("Multi-head attention as slices", "多头注意力就是切片")
    size: ClassVar = (10.0, 2.7)

    dim: Annotated[int, Range(2, 256)] = 8
    """Dimension of the hidden states."""
    heads: Annotated[int, Range(1, 64)] = 2
    """Heads; they divide dim."""
    tokens: Annotated[int, Range(1, 64)] = 4
    """Tokens of the text."""
    seed: Seed = 1
    """Seed of the hidden states and of the weights."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim % self.heads:
            raise SettingError(
                "dim is {dim}, which {heads} heads do not divide. Change one of them.",
                dim=self.dim,
                heads=self.heads,
            )

    def numbers(self) -> Numbers:
        random = np.random.Generator(np.random.Philox(self.seed))
        x = random.standard_normal((self.tokens, self.dim))
        projections = random.standard_normal((3, self.dim, self.dim)) / np.sqrt(self.dim)
        output = random.standard_normal((self.dim, self.dim)) / np.sqrt(self.dim)
        query, key, value = (self._split(x @ each) for each in projections)
        weights = softmax(query @ key.transpose(0, 2, 1) / np.sqrt(self.dim // self.heads))
        mixed = weights @ value
        joined = np.concatenate(list(mixed), axis=1) @ output
        added = np.stack(
            [each @ part for each, part in zip(mixed, np.split(output, self.heads), strict=True)]
        )
        total = added.sum(axis=0)
        values = {
            "weights": weights,
            "concatenated": np.concatenate(list(mixed), axis=1),
            "w_o": output,
            "output": joined,
            "added_by_head": added,
            "largest_difference": float(np.abs(joined - total).max()),
            "parameters": 4 * self.dim**2,
        }
        norms = np.linalg.norm(added, axis=(1, 2))
        table = (
            Column("head", "注意力头", list(range(1, self.heads + 1))),
            Column("rows of W_o", "W_o 的行", [f"{a + 1}-{b}" for a, b in self._slices()]),
            Column("norm of what it adds", "所加部分的范数", norms),
        )
        return Numbers(values, table)

    def _slices(self) -> list[tuple[int, int]]:
        width = self.dim // self.heads
        return [(head * width, (head + 1) * width) for head in range(self.heads)]

    def _split(self, x: np.ndarray) -> np.ndarray:
        """(token, dim) -> (head, token, dim / heads)"""
        return np.stack(np.split(x, self.heads, axis=1))

    def sentences(self, values: dict[str, Any], say: Say) -> list[str]:
        return [
            say(
                "{heads} heads of {width} components each. Concatenated and multiplied by W_o, or each "
                "multiplied by its own rows of W_o and added: the outputs differ by {error:.1e}, which is "
                "rounding.",
                "{heads} 个头，每个 {width} 维。拼接后乘以 W_o，与每个头各乘以 W_o 中属于自己的行再相加，"
                "结果只差 {error:.1e}，即舍入误差。",
            ).format(heads=self.heads, width=self.dim // self.heads, error=values["largest_difference"]),
            say(
                "The number of heads changes no parameter: 4 × dim² = {parameters:,} in any case, biases not "
                "counted.",
                "头数不改变参数量：都是 4 × dim² = {parameters:,}（不计偏置）。",
            ).format(parameters=values["parameters"]),
        ]

    def draw(self, figure: Any, values: dict[str, Any], say: Say) -> None:
        shown = min(self.heads, len(COLORS))
        widths = [self.dim, self.dim, *[self.dim] * (shown + 1)]
        axes = figure.subplots(1, len(widths), width_ratios=widths)
        limit = float(np.abs(values["output"]).max())
        rectangle = _rectangle()
        names = [say("concatenated heads", "各头拼接"), "× W_o"]
        names += [(say("head {head}", "第 {head} 头")).format(head=head + 1) for head in range(shown)]
        names[2] = "= " + names[2]
        names[3 : 2 + shown] = ["+ " + name for name in names[3:]]
        last = say("= output", "= 输出")
        if self.heads > shown:
            last = say("+ … = output", "+ … = 输出")
        names.append(last)
        tables = [values["concatenated"], values["w_o"], *values["added_by_head"][:shown], values["output"]]
        for axis, table, name in zip(axes, tables, names, strict=True):
            axis.imshow(table, cmap=signs(), vmin=-limit, vmax=limit)
            axis.set(xticks=[], yticks=[], title=name)
            axis.spines[:].set_visible(False)
        for head, (start, end) in enumerate(self._slices()):
            color = COLORS[head % len(COLORS)]
            frame = {"fill": False, "edgecolor": color, "linewidth": 2.2, "clip_on": False}
            axes[0].add_patch(rectangle((start - 0.45, -0.45), end - start - 0.1, self.tokens - 0.1, **frame))
            axes[1].add_patch(rectangle((-0.45, start - 0.45), self.dim - 0.1, end - start - 0.1, **frame))
            if head < shown:
                axes[2 + head].add_patch(
                    rectangle((-0.45, -0.45), self.dim - 0.1, self.tokens - 0.1, **frame)
                )
        axes[-1].add_patch(
            rectangle(
                (-0.45, -0.45), self.dim - 0.1, self.tokens - 0.1, fill=False, edgecolor=DARK, linewidth=1
            )
        )


def _rectangle() -> Any:
    return need("matplotlib.patches", extra="explore").Rectangle
