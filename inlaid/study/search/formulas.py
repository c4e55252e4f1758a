"""Formulas of words, read without eval: "king - man + woman", "2 * 国王 - (男人 + 女人)".

    formula = [sign] term {sign term}          sign = + -      also ＋ － −
    term    = [number *] (word | ( formula ))  *    also ＊ ×   ( ) also （ ）

Signs stand between blanks, so that e-mail is a word; brackets need none. A word with blanks or brackets goes
between double quotes ("new york", “new york” or 「new york」), where a backslash takes the next character as it
is. A number is a weight only before *; elsewhere it is a word. Signs without blanks around them (国王-男人+女人)
are read as signs only where the whole is no known word and every piece is one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from inlaid.errors import SettingError

SIGNS = {"+": "+", "＋": "+", "-": "-", "－": "-", "−": "-", "*": "*", "＊": "*", "×": "*"}
BRACKETS = {"(": "(", "（": "(", ")": ")", "）": ")"}
QUOTES = {'"': '"', "“": "”", "「": "」"}
NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
SPECIAL = re.compile(rf"[\s{re.escape(''.join([*SIGNS, *BRACKETS, *QUOTES, *QUOTES.values()]))}\\]")
GLUED = re.compile(rf"([{re.escape(''.join(SIGNS))}])")


@dataclass(frozen=True)
class Term:
    """A word and how much of it."""

    weight: float
    word: str


@dataclass(frozen=True)
class Formula:
    """A sum of weighted words, brackets multiplied out; its text reads back as the same sum."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        shown = [
            f"{_sign(term.weight)} {_weight(abs(term.weight))}{_quoted(term.word)}" for term in self.terms
        ]
        return " ".join(shown).removeprefix("+ ")


@dataclass(frozen=True)
class _Token:
    kind: str
    """A sign, a bracket, "word", "number" (a word unless * follows), or "end"."""
    text: str
    place: int


def parse(formula: str, known: Callable[[str], bool] | None = None) -> Formula:
    """Read a formula; what cannot be read raises SettingError with its place. `known` tells words, for signs
    without blanks.

    >>> parse("2 * king - (man - 0.5 * woman)").terms
    (Term(weight=2.0, word='king'), Term(weight=-1.0, word='man'), Term(weight=0.5, word='woman'))
    """
    tokens = [*_tokens(formula, known), _Token("end", "", len(formula))]
    terms: list[Term] = []
    outer: list[
        float
    ] = []  # what each open bracket is multiplied by; a list, so that depth costs no recursion
    # start: of the formula or of a bracket, where a sign may be left out or stand alone
    here = 0
    weight = 1.0
    start = True
    while True:
        weight = outer[-1] if outer else 1.0
        if tokens[here].kind in ("+", "-"):
            weight *= -1 if tokens[here].kind == "-" else 1
            here += 1
        elif not start:
            raise _wrong(formula, tokens[here], "+ or - between words")
        if tokens[here].kind == "number" and tokens[here + 1].kind == "*":
            weight *= float(tokens[here].text)
            here += 2
            if not math.isfinite(weight):
                raise _wrong(formula, tokens[here - 2], "weights that multiply to a finite number")
        start = tokens[here].kind == "("
        if start:
            outer.append(weight)
        elif tokens[here].kind in ("word", "number"):
            terms.append(Term(weight, tokens[here].text))
        else:
            raise _wrong(formula, tokens[here], "a word")
        here += 1
        while not start and outer and tokens[here].kind == ")":
            outer.pop()
            here += 1
        if not start and tokens[here].kind == "end":
            break
    if outer:
        raise _wrong(formula, tokens[here], f"{len(outer)} more ')'")
    return Formula(tuple(terms))


def _tokens(formula: str, known: Callable[[str], bool] | None) -> Iterator[_Token]:
    here = 0
    while here < len(formula):
        letter = formula[here]
        if letter.isspace():
            here += 1
        elif letter in BRACKETS:
            yield _Token(BRACKETS[letter], letter, here)
            here += 1
        elif letter in QUOTES:
            word, end = _read_quoted(formula, here)
            yield _Token("word", word, here)
            here = end
        else:
            end = next(
                (at for at in range(here, len(formula)) if formula[at].isspace() or formula[at] in BRACKETS),
                len(formula),
            )
            yield from _chunk(formula[here:end], here, known)
            here = end


def _read_quoted(formula: str, start: int) -> tuple[str, int]:
    """The word between quotes, and where what follows it begins."""
    word = ""
    here = start + 1
    close = QUOTES[formula[start]]
    while here < len(formula) and formula[here] != close:
        here += formula[here] == "\\"
        word += formula[here : here + 1]
        here += 1
    if here >= len(formula) or not word:
        raise _wrong(
            formula, _Token("word", formula[start], start), f"a word between {formula[start]} and {close}"
        )
    return word, here + 1


def _chunk(text: str, place: int, known: Callable[[str], bool] | None) -> Iterator[_Token]:
    """What stands between blanks and brackets: a sign, a number, a word, or words and signs glued
    together."""
    pieces = [piece for piece in GLUED.split(text) if piece]
    if text in SIGNS or NUMBER.fullmatch(text) or len(pieces) == 1 or not known or known(text):
        yield _token(text, place)
        return
    words = [piece for piece in pieces if piece not in SIGNS and not NUMBER.fullmatch(piece)]
    glued = all(known(word) for word in words)
    for piece in pieces if glued else [text]:
        yield _token(piece, place)
        place += len(piece)


def _token(text: str, place: int) -> _Token:
    kind = SIGNS.get(text) or ("number" if NUMBER.fullmatch(text) else "word")
    return _Token(kind, text, place)


def _wrong(formula: str, token: _Token, expected: str) -> SettingError:
    shown = f"{formula[max(0, token.place - 30) : token.place]} >>> {formula[token.place : token.place + 30]}"
    found = f"'{token.text}'" if token.text else "the end"
    return SettingError(
        f"Cannot read the formula at character {token.place + 1}: expected {expected}, found {found}: {shown.strip()} "
        "Write words joined by + and -, with blanks around the signs: king - man + woman."
    )


def _sign(weight: float) -> str:
    return "-" if math.copysign(1, weight) < 0 else "+"


def _weight(size: float) -> str:
    return "" if size == 1 else f"{size:.17g} * " if size != float(f"{size:g}") else f"{size:g} * "


def _quoted(word: str) -> str:
    if not SPECIAL.search(word) and not NUMBER.fullmatch(word):
        return word
    escaped = re.sub(r'(["\\])', r"\\\1", word)
    return f'"{escaped}"'
