"""A trace of decoding: what was compared at every step, and what was chosen; for beams the tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from inlaid.messages import Message
from inlaid.study.analysis import Cell, Row
from inlaid.study.use.encoding import Tokens, visible
from inlaid.study.use.next import LikelyToken, likely

LIKELIEST = 5
"""Tokens shown at every step."""
NEVER = -1e8
"""Scores below belong to beams that are not in use yet."""
Fate = Literal["kept", "dropped", "ended", "best"]


@dataclass(frozen=True)
class Step:
    """One token: the likeliest, and the chosen one."""

    likeliest: tuple[LikelyToken, ...]
    chosen: LikelyToken
    ends: bool
    """Whether the chosen token ends the text."""


@dataclass(frozen=True)
class Hypothesis:
    """One node of the tree of a beam search."""

    step: int
    """Counted from 1."""
    parent: int | None
    """The hypothesis it continues, by its place in the tree; None for the first step."""
    token: str
    id: int
    score: float
    """The sum of the log probabilities from the start."""
    fate: Fate
    """kept: continued at the next step; ended: it has its end token, and competes; best: the one returned;
    dropped: neither."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """How one text was decoded, from the start."""

    start: tuple[str, ...]
    """What decoding started from: the prompt, or the start token of a seq2seq."""
    steps: tuple[Step, ...] = ()
    """Of greedy decoding and sampling."""
    tree: tuple[Hypothesis, ...] = ()
    """Of beam search: every hypothesis that was compared, step by step."""

    def rows(self) -> list[Row]:
        rows: list[Row] = [Message("start: {tokens}", tokens=" ".join(map(visible, self.start)))]
        for number, step in enumerate(self.steps, 1):
            cells = [f"{visible(each.token)} {each.probability:.3f}" for each in step.likeliest]
            cells += [""] * (LIKELIEST - len(cells))
            chosen: Cell = f"-> {visible(step.chosen.token)} {step.chosen.probability:.3f}"
            if step.ends:
                chosen = Message("{chosen} (end)", chosen=chosen)
            rows.append((str(number), *cells, chosen))
        return [*rows, *_branches(self.tree)]


FATES = {
    "kept": Message("kept"),
    "dropped": Message("dropped"),
    "ended": Message("ended"),
    "best": Message("best"),
}


def _branches(tree: Sequence[Hypothesis]) -> Iterator[Message]:
    """The tree, one hypothesis a line. Not recursive: a text may have more tokens than Python has frames."""
    children: dict[int | None, list[int]] = {}
    for place, node in enumerate(tree):
        children.setdefault(node.parent, []).append(place)
    waiting = [(place, "") for place in reversed(children.get(None, []))]
    while waiting:
        place, indent = waiting.pop()
        node = tree[place]
        last = children[node.parent][-1] == place
        yield Message(
            "{branch}{token}  {score:.3f}  {fate}",
            branch=indent + ("└ " if last else "├ "),
            token=visible(node.token),
            score=node.score,
            fate=FATES[node.fate],
        )
        deeper = indent + ("  " if last else "│ ")
        waiting += [(child, deeper) for child in reversed(children.get(place, []))]


class Recorder:
    """Builds the trace of one text from the steps that `generate` reports."""

    def __init__(self, tokens: Tokens, start: Sequence[str], end: Sequence[int]) -> None:
        self.tokens = tokens
        self.start = tuple(start)
        self.end = set(end)
        self.steps: list[Step] = []
        self.tree: list[Hypothesis] = []
        self.beams: list[int | None] = []
        """The place of each running hypothesis in the tree; None where a beam is not in use yet."""

    def __call__(self, choice: Any) -> None:
        if hasattr(choice, "candidates"):
            self._add_candidates(choice)
            return
        row = choice.probabilities[0]
        id = int(choice.tokens[0])
        chosen = LikelyToken(self.tokens.shown(id), id, float(row[id]))
        self.steps.append(Step(likely(self.tokens, row, LIKELIEST), chosen, id in self.end))

    def _add_candidates(self, choice: Any) -> None:
        """Those that end count if they are among the likeliest, as many as there are beams."""
        found = choice.candidates
        kept: list[int] = choice.kept[0].tolist()
        columns = (found.scores, found.beams, found.tokens, found.ended)
        places: list[int | None] = []
        for rank, (score, beam, id, ended) in enumerate(
            zip(*(column[0].tolist() for column in columns), strict=True)
        ):
            if score < NEVER:
                places.append(None)
                continue
            counts = rank < len(kept) if ended else rank in kept
            fate: Fate = "dropped"
            if counts:
                fate = "ended" if ended else "kept"
            parent = self.beams[beam] if self.beams else None
            places.append(len(self.tree))
            self.tree.append(Hypothesis(choice.length, parent, self.tokens.shown(id), id, score, fate))
        self.beams = [places[rank] for rank in kept]

    def trace(self, ids: Sequence[int]) -> Trace:
        """The trace; `ids` is the text that was returned."""
        self._mark_best(ids)
        return Trace(start=self.start, steps=tuple(self.steps), tree=tuple(self.tree))

    def _mark_best(self, ids: Sequence[int]) -> None:
        children = {(node.parent, node.id): place for place, node in enumerate(self.tree)}
        parent: int | None = None
        for id in ids:
            if (parent, id) not in children:
                return
            parent = children[parent, id]
        if parent is not None:
            self.tree[parent] = replace(self.tree[parent], fate="best")
