"""Names: where each of our tensors is in a family's files, and in which layout; no torch needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Place:
    """Where one of our tensors is in their file. `{n}` in the name is the number of a block."""

    name: str
    transposed: bool = False
    """Matrices are stored (in, out)."""
    part: int | None = None
    """It is this part of a tensor that holds several of ours side by side, such as query, key and value."""
    parts: int = 3
    """How many of ours that tensor holds."""
    row: bool = False
    """A vector is stored as a matrix of one row."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """The tensor names of one family."""

    prefix: str
    """Prefix of most names in a folder saved from a class with a head; one without a head lacks it."""
    without_prefix: tuple[str, ...] = ()
    """Beginnings of names that never have the prefix."""
    parts: Mapping[str, str | Place]
    """Our module or parameter -> theirs."""
    input_table: str
    output_table: str
    """The output table, where it is not tied."""
    target_table: str = ""
    """The input table of the target, where the source and the target have one each."""
    copies: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tensors that repeat another one, where a file has them at all; a seq2seq's two sides come first."""
    spare: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tensors they store and never use -> the one they use instead. The first is read where a file lacks the
    second, and repeats it in what is written."""
    unused: str = "(?!)"
    """A pattern of known tensors that are not needed: counters, sinusoids, heads for other tasks."""
    zero: str = "(?!)"
    """A pattern of biases that are zero where a file lacks them."""
    old_names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Ends of names in old files -> what they are called now."""
    fallback: str = ""
    """The table to use where one of two input tables, or the output table, is not stored."""
    tied_by_tensors: bool = False
    """Their config does not say which tables are tied: the tensors do."""

    @property
    def head_table(self) -> str:
        """The input table that a tied head uses."""
        return self.target_table or self.input_table

    def place(self, ours: str) -> Place | None:
        """Where our parameter is, or None if this family has no name for it."""
        number = re.search(r"\.blocks\.(\d+)\.", ours)
        generic = ours if number is None else ours.replace(number[0], ".blocks.{n}.", 1)
        module, _, leaf = generic.rpartition(".")
        if generic in self.parts:
            place = _as_place(self.parts[generic])
        elif module in self.parts:
            place = _as_place(self.parts[module])
            place = replace(
                place, name=f"{place.name}.{leaf}", transposed=place.transposed and leaf == "weight"
            )
        else:
            return None
        return replace(place, name=place.name.replace("{n}", number[1] if number else ""))

    def full_names(self, stored: Iterable[str]) -> dict[str, str]:
        """Full present-day name -> name in the file."""
        known = {self._present_day(name): name for name in stored}
        if not self.prefix or any(name.startswith(self.prefix) for name in known):
            return known
        return {
            name if name.startswith(self.without_prefix) else self.prefix + name: file
            for name, file in known.items()
        }

    def renamed(self, old: str, new: str) -> Names:
        """The names of a family that has another prefix, and the same names after it."""
        pattern = re.compile(f"^{re.escape(old)}")

        def rename(name: str) -> str:
            return pattern.sub(new, name)

        places = {ours: _as_place(place) for ours, place in self.parts.items()}
        return replace(
            self,
            prefix=rename(self.prefix),
            parts={ours: replace(place, name=rename(place.name)) for ours, place in places.items()},
            input_table=rename(self.input_table),
            output_table=rename(self.output_table),
            copies={rename(copy): rename(original) for copy, original in self.copies.items()},
            unused=self.unused.replace(re.escape(old), re.escape(new)),
        )

    def separated(self) -> Names:
        """The names of a seq2seq whose source and target have an input table each."""
        source, target = list(self.copies)[:2]
        tables = {"tokens": source.removesuffix(".weight"), "target_tokens": target.removesuffix(".weight")}
        return replace(
            self,
            parts={**self.parts, **tables},
            input_table=source,
            target_table=target,
            copies={},
            unused=f"{self.unused}|{re.escape(self.input_table)}",
            fallback=self.input_table if self.tied_by_tensors else "",
        )

    def with_own_bias(self) -> Names:
        """The names of a masked head that is not tied: it uses the bias of its output layer, not the one that
        this repeats where it is tied."""
        used, spare = next(iter(self.copies.items()))
        return replace(self, parts={**self.parts, "head.output.bias": used}, copies={}, spare={spare: used})

    def _present_day(self, name: str) -> str:
        for old, new in self.old_names.items():
            if name.endswith(old):
                return name.removesuffix(old) + new
        return name


def blocks(ours: str, theirs: str, parts: Mapping[str, str | Place]) -> dict[str, str | Place]:
    """The names of all blocks of a stack: `ours`.blocks.{n} is `theirs`.{n}."""
    named: dict[str, str | Place] = {}
    for part, other in parts.items():
        place = _as_place(other)
        named[f"{ours}.blocks.{{n}}.{part}"] = replace(place, name=f"{theirs}.{{n}}.{place.name}")
    return named


def _as_place(place: str | Place) -> Place:
    return Place(place) if isinstance(place, str) else place
