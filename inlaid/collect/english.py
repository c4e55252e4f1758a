"""English forms of words and phrases: plural, article, third person, past, -ing and comparative."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Inflection:
    """The regular rules, and the words that do not follow them."""

    KINDS: ClassVar[tuple[str, ...]] = ("s", "a", "third", "past", "ing", "er")
    irregular: Mapping[str, Mapping[str, str]]
    """For each form, such as `past`, the words that have another one: eat -> ate."""

    @classmethod
    def of(cls, tables: Mapping[str, str]) -> Inflection:
        """From lists such as `past = "eat ate, drink drank"`."""
        return cls(
            {kind: dict(each.split() for each in listed.split(",")) for kind, listed in tables.items()}
        )

    def forms(self, text: str, column: str = "") -> dict[str, str]:
        """All forms of a word or phrase by slot key; the last word has a plural, the first one the others."""
        first, gap, rest = text.partition(" ")
        before, space, last = text.rpartition(" ")
        found = {
            "s": before + space + self._form("s", last, _with_s(last)),
            "a": f"{self._form('a', first, _article(first))} {text}",
            "third": self._form("third", first, _with_s(first)) + gap + rest,
            "past": self._form("past", first, _past(first)) + gap + rest,
            "ing": self._form("ing", first, _ing(first)) + gap + rest,
            "er": self._form("er", first, _er(first)) + gap + rest,
        }
        return {f"{column}.{kind}".lstrip("."): form for kind, form in found.items()}

    def _form(self, kind: str, word: str, regular: str) -> str:
        return self.irregular.get(kind, {}).get(word, regular)


def _stem(word: str) -> str:
    """carry -> carri, before -es, -ed and -er."""
    return re.sub(r"(?<=[^aeiou])y$", "i", word)


def _doubled(word: str) -> str:
    """swim -> swimm: one syllable that ends in one vowel and one consonant, before -ing, -ed and -er."""
    return word + word[-1] if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", word) else word


def _with_s(word: str) -> str:
    stem = _stem(word)
    return stem + ("es" if stem != word or re.search(r"(s|x|z|ch|sh)$", word) else "s")


def _past(word: str) -> str:
    return f"{word}d" if word.endswith("e") else f"{_doubled(_stem(word))}ed"


def _ing(word: str) -> str:
    return f"{re.sub(r'(?<=[^e])e$', '', _doubled(word))}ing"


def _er(word: str) -> str:
    return f"{word}r" if word.endswith("e") else f"{_doubled(_stem(word))}er"


def _article(word: str) -> str:
    return "an" if word[0].lower() in "aeiou" else "a"
