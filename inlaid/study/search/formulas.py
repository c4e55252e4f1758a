"""Formulas of words, read without eval: "king - man + woman", "2 * 国王 - (男人 + 女人)".

    formula = [sign] term {sign term}          sign = + -      also ＋ － −
    term    = [number *] (word | ( formula ))  *    also ＊ ×   ( ) also （ ）

Signs have spaces around them, so that e-mail is a word; parentheses need none, and neither does the * after a
number and before a parenthesis. A word with spaces or parentheses goes between double quotes ("new york",
“new york” or 「new york」), where a backslash takes the next character literally. A number is a weight only
before *; elsewhere it is a word. Signs without spaces (国王-男人+女人) are read as signs only where the
whole is not a known word and every piece is one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from inlaid.errors import SettingError
from inlaid.messages import Message

SIGNS = {"+": "+", "＋": "+", "-": "-", "－": "-", "−": "-", "*": "*", "＊": "*", "×": "*"}
PARENTHESES = {"(": "(", "（": "(", ")": ")", "）": ")"}
QUOTES = {'"': '"', "“": "”", "「": "」"}
LONGEST = 100_000
"""Characters of a formula, at most. Anything longer is a file typed by mistake."""
NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
WEIGHT = re.compile(
    rf"(?P<sign>[+＋\-－−]?)(?P<number>{NUMBER.pattern})(?P<times>[*＊×])", re.ASCII | re.IGNORECASE
)
"""A number and its *, without a space between them."""
SPECIAL = re.compile(rf"[\s{re.escape(''.join([*SIGNS, *PARENTHESES, *QUOTES, *QUOTES.values()]))}\\]")
END_OF_CHUNK = re.compile(rf"[\s{re.escape(''.join(PARENTHESES))}]")
QUOTED = {
    opens: re.compile(rf"{opens}((?:[^\\{closes}]|\\.)++){closes}", re.DOTALL)
    for opens, closes in QUOTES.items()
}
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
GLUED = re.compile(rf"([{re.escape(''.join(SIGNS))}])")


@dataclass(frozen=True)
class Term:
    """A word and its weight."""

    weight: float
    word: str


@dataclass(frozen=True)
class Formula:
    """A sum of weighted words, parentheses multiplied out; its text reads back as the same sum."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        shown = [
            f"{_sign(term.weight)} {_weight(abs(term.weight))}{_quoted(term.word)}" for term in self.terms
        ]
        return " ".join(shown).removeprefix("+ ")


@dataclass(frozen=True)
class _Token:
    kind: str
    """A sign, a parenthesis, "word", "number" (a word unless * follows), or "end"."""
    text: str
    place: int


def parse(formula: str, known: Callable[[str], bool] | None = None) -> Formula:
    """Read a formula; SettingError says where that fails. `known` tells words, for signs without spaces.

    >>> parse("2 * king - (man - 0.5 * woman)").terms
    (Term(weight=2.0, word='king'), Term(weight=-1.0, word='man'), Term(weight=0.5, word='woman'))
    """
    if len(formula) > LONGEST:
        raise SettingError(
            "The formula has {found:,} characters; expected at most {most:,}. Write words joined by + and -.",
            found=len(formula),
            most=LONGEST,
        )
    tokens = [*_tokens(formula, known), _Token("end", "", len(formula))]
    terms: list[Term] = []
    # What each open parenthesis is multiplied by: a list, so that no depth exhausts the stack.
    factors: list[float] = []
    here = 0
    opening = True  # at the start of the formula or of a parenthesis, where a sign may be missing
    while True:
        weight = factors[-1] if factors else 1.0
        if tokens[here].kind in ("+", "-"):
            weight *= -1 if tokens[here].kind == "-" else 1
            here += 1
        elif not opening:
            raise _cannot_read(formula, tokens[here], Message("+ or - between words"))
        if tokens[here].kind == "number" and tokens[here + 1].kind == "*":
            weight *= float(tokens[here].text)
            if not math.isfinite(weight):
                raise _cannot_read(formula, tokens[here], Message("weights whose product is finite"))
            here += 2
        opening = tokens[here].kind == "("
        if opening:
            factors.append(weight)
            here += 1
            continue
        if tokens[here].kind not in ("word", "number"):
            raise _cannot_read(formula, tokens[here], Message("a word"))
        terms.append(Term(weight, tokens[here].text))
        here += 1
        while factors and tokens[here].kind == ")":
            factors.pop()
            here += 1
        if tokens[here].kind == "end":
            break
    if factors:
        raise _cannot_read(formula, tokens[here], Message("{count} more ')'", count=len(factors)))
    return Formula(tuple(terms))


def reads_alone(formula: str, read: Formula) -> bool:
    """Whether the formula means `read` without knowing any word, so that nothing about it was guessed."""
    try:
        return parse(formula) == read
    except SettingError:
        return False


def _tokens(formula: str, known: Callable[[str], bool] | None) -> Iterator[_Token]:
    here = 0
    while here < len(formula):
        letter = formula[here]
        if letter.isspace():
            here += 1
        elif letter in PARENTHESES:
            yield _Token(PARENTHESES[letter], letter, here)
            here += 1
        elif letter in QUOTES:
            word, end = _read_quoted(formula, here)
            yield _Token("word", word, here)
            here = end
        else:
            chunk_end = END_OF_CHUNK.search(formula, here)
            end = len(formula) if chunk_end is None else chunk_end.start()
            yield from _chunk(formula[here:end], here, known)
            here = end


def _read_quoted(formula: str, start: int) -> tuple[str, int]:
    """The word between quotes, and where what follows it begins."""
    found = QUOTED[formula[start]].match(formula, start)
    if found is None:
        close = QUOTES[formula[start]]
        expected = Message("a word between {open} and {close}", open=formula[start], close=close)
        raise _cannot_read(formula, _Token("word", formula[start], start), expected)
    return ESCAPED.sub(r"\1", found[1]), found.end()


def _chunk(text: str, place: int, known: Callable[[str], bool] | None) -> Iterator[_Token]:
    """What is between spaces and parentheses: a sign, a number, a word, or words and signs without
    spaces."""
    for piece in _pieces(text, known):
        yield _token(piece, place)
        place += len(piece)


def _pieces(text: str, known: Callable[[str], bool] | None) -> list[str]:
    """A weight is always cut from its *; signs elsewhere only where the whole is no word and every piece is
    one."""
    weight = WEIGHT.fullmatch(text)
    if weight:
        return [piece for piece in weight.group("sign", "number", "times") if piece]
    pieces = [piece for piece in GLUED.split(text) if piece]
    if text in SIGNS or NUMBER.fullmatch(text) or len(pieces) == 1 or known is None or known(text):
        return [text]
    words = [piece for piece in pieces if piece not in SIGNS and not NUMBER.fullmatch(piece)]
    return pieces if all(known(word) for word in words) else [text]


def _token(text: str, place: int) -> _Token:
    if text in SIGNS:
        return _Token(SIGNS[text], text, place)
    return _Token("number" if NUMBER.fullmatch(text) else "word", text, place)


def _cannot_read(formula: str, token: _Token, expected: Message) -> SettingError:
    before = formula[max(0, token.place - 30) : token.place]
    after = formula[token.place : token.place + 30]
    return SettingError(
        "Cannot read the formula at character {place}: expected {expected}, found {found}: {shown} "
        "Write words joined by + and -, with spaces around the signs: king - man + woman.",
        place=token.place + 1,
        expected=expected,
        found=f"'{token.text}'" if token.text else Message("the end"),
        shown=f"{before} >>> {after}".strip(),
    )


def _sign(weight: float) -> str:
    return "-" if math.copysign(1, weight) < 0 else "+"


def _weight(size: float) -> str:
    if size == 1:
        return ""
    if size == float(f"{size:g}"):
        return f"{size:g} * "
    return f"{size:.17g} * "


def _quoted(word: str) -> str:
    if not SPECIAL.search(word) and not NUMBER.fullmatch(word):
        return word
    escaped = re.sub(r'(["\\])', r"\\\1", word)
    return f'"{escaped}"'
