"""Joining: learned phrases, in the record of a corpus or in a file, and a tokenizer that joins them.

`phrases` learns them and joins them in a corpus; here they are joined in one text, as they were there.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from inlaid import files
from inlaid.encode.chinese import HAN
from inlaid.encode.tokenizers import Token, Tokenizer
from inlaid.errors import FormatError
from inlaid.untrusted import check_regular, read_json_object

JOINED = "joined_phrases"
"""Where the record of an encoding has its phrases."""
KIND = "phrases"
_TWO_HAN = re.compile(f"[{HAN}]{{2}}")


@dataclass(frozen=True)
class Pass:
    """Pairs of adjacent words that become one word, all in one pass over a text."""

    joiner: str
    chinese_joiner: str
    first: Sequence[str]
    second: Sequence[str]
    """The words of each pair."""

    @functools.cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        return frozenset(zip(self.first, self.second, strict=True))

    def spelled(self, first: str, second: str) -> str:
        """A pair as one word."""
        both_chinese = _TWO_HAN.match(first[-1:] + second[:1])
        return first + (self.chinese_joiner if both_chinese else self.joiner) + second

    def join(self, tokens: Sequence[Token]) -> list[Token]:
        """Pairs are joined from left to right."""
        joined: list[Token] = []
        here = 0
        while here < len(tokens):
            first, second = tokens[here], tokens[min(here + 1, len(tokens) - 1)]
            if second is not first and (first.text, second.text) in self.pairs:
                joined.append(Token(self.spelled(first.text, second.text), first.start, second.end))
                here += 2
            else:
                joined.append(first)
                here += 1
        return joined


@dataclass(frozen=True)
class Join:
    """The passes of one search for phrases, and the words that became too rare by joining."""

    passes: Sequence[Pass]
    fallen: Sequence[str] = ()
    """Words of the corpus that occur less often than `min_count` outside of phrases, and were dropped after
    joining."""

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """The words that were in the text when its phrases were joined, as far as this tells."""
        return frozenset(self.fallen).union(
            *(each for one in self.passes for each in (one.first, one.second))
        )


def joins_of(recorded: Mapping[str, Any]) -> tuple[Join, ...]:
    """The phrases in the record of an encoding."""
    return tuple(
        Join([Pass(**each) for each in one["passes"]], one["fallen"]) for one in recorded.get(JOINED, ())
    )


def values_of_joins(joins: Sequence[Join]) -> list[dict[str, Any]]:
    """Phrases as JSON has them."""
    return [asdict(each) for each in joins]


@dataclass(frozen=True, eq=False)
class JoiningTokenizer:
    """A tokenizer whose phrases are one token, as they are in a corpus."""

    tokenizer: Tokenizer
    joins: Sequence[Join]
    vocabulary: Container[str] | None = None
    """The words after joining. Where they are given, other words were dropped from the corpus before its
    phrases were joined, and do not keep their neighbors apart."""

    def tokenize(self, text: str) -> list[Token]:
        tokens = self.tokenizer.tokenize(text)
        kept = [token for token in tokens if self._was_there(token.text)]
        fallen: list[Token] = []
        for join in self.joins:
            for each in join.passes:
                kept = each.join(kept)
            rare = frozenset(join.fallen)
            fallen += [token for token in kept if token.text in rare]
            kept = [token for token in kept if token.text not in rare]
        kept += fallen
        covered = {place for token in kept for place in range(token.start, token.end)}
        others = [token for token in tokens if token.start not in covered]
        return sorted([*kept, *others], key=lambda token: token.start)

    def words(self, text: str) -> list[str]:
        return [token.text for token in self.tokenize(text)]

    def _was_there(self, word: str) -> bool:
        if self.vocabulary is None or word in self.vocabulary:
            return True
        return any(word in join.words for join in self.joins)


def joining(
    tokenizer: Tokenizer, recorded: Mapping[str, Any], vocabulary: Container[str] | None = None
) -> Tokenizer:
    """The tokenizer, joining the phrases that the record of an encoding has."""
    joins = joins_of(recorded)
    if not joins:
        return tokenizer
    return JoiningTokenizer(tokenizer, joins, vocabulary if recorded.get("unknown") is None else None)


def write_phrases(path: Path, joins: Sequence[Join]) -> None:
    """Save phrases for other texts, as JSON."""
    content = {"inlaid": KIND, "version": 1, JOINED: values_of_joins(joins)}
    files.write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def read_phrases(path: Path) -> tuple[Join, ...]:
    """The phrases that `write_phrases` saved."""
    check_regular(path, "phrases")
    content = read_json_object(path)
    if content.get("inlaid") != KIND or content.get("version") != 1:
        raise FormatError(
            "{path} is not a file of phrases. `inlaid phrases CORPUS -o FOLDER --save {path}` writes one.",
            path=path,
        )
    check_record(path, content.get(JOINED))
    return joins_of(content)


def check_record(path: Path, found: Any) -> None:
    """Raise FormatError unless this is a record of phrases."""
    good = isinstance(found, list) and all(_is_join(each) for each in found)
    if not good:
        raise FormatError("{path}: its phrases are damaged. Restore the file from a copy.", path=path)


def _is_join(found: Any) -> bool:
    if not isinstance(found, dict) or found.keys() != {"passes", "fallen"}:
        return False
    passes = found["passes"]
    return _are_words(found["fallen"]) and isinstance(passes, list) and all(map(_is_pass, passes))


def _is_pass(found: Any) -> bool:
    if not isinstance(found, dict) or found.keys() != {"joiner", "chinese_joiner", "first", "second"}:
        return False
    first, second = found["first"], found["second"]
    if not _are_words([found["joiner"], found["chinese_joiner"]]) or not _are_words(first):
        return False
    return _are_words(second) and len(first) == len(second) and all([*first, *second])


def _are_words(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(each, str) for each in found)
