"""Formulas of words, read without eval: "king - man + woman", "2 * 国王 - (男人 + 女人)".

    formula = [sign] term {sign term}
    term    = [number *] (word | ( formula )) {* number}
    sign    = + or -, also ＋ － −; * also ＊ ×; ( ) also （ ）

Signs have spaces around them, so that e-mail is a word; parentheses need none, and neither does a * between a
number and a parenthesis, nor a sign before a number and its *. A word with spaces or parentheses goes between
double quotes ("new york", “new york” or 「new york」), where a backslash takes the next character literally.
A number is a weight only beside *; elsewhere it is a word, and "2 * 7" is twice the word 7. Signs without
spaces (国王-男人+女人) are read as signs only where the whole is not a known word and every piece is one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

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
SIGNED = re.compile(
    rf"(?P<sign>[+＋\-－−])(?P<number>{NUMBER.pattern})(?=\s+[*＊×](?:[\s(（]|$))", re.ASCII | re.IGNORECASE
)
"""A sign and a number without a space between them, and a * after a space: -1 * man."""
FACTOR = re.compile(rf"(?P<times>[*＊×])(?P<number>{NUMBER.pattern})", re.ASCII | re.IGNORECASE)
"""A * and the number after it, without a space between them."""
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
    products = _products(formula, tokens)
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
            weight = _finite(weight * float(tokens[here].text), formula, tokens[here])
            here += 2
        product = products.get(here)
        if product is not None:
            weight = _finite(weight * product.value, formula, tokens[here])
        opening = tokens[here].kind == "("
        if opening:
            factors.append(weight)
            here += 1
            continue
        if tokens[here].kind not in ("word", "number"):
            raise _cannot_read(formula, tokens[here], Message("a word"))
        terms.append(Term(weight, tokens[here].text))
        here = products[here].end
        while factors and tokens[here].kind == ")":
            factors.pop()
            here = products[here].end
        if tokens[here].kind == "end":
            break
    if factors:
        raise _cannot_read(formula, tokens[here], Message("{count} more ')'", count=len(factors)))
    return Formula(tuple(terms))


class _Product(NamedTuple):
    """The numbers that a term is multiplied by after it, and the token that follows them."""

    value: float
    end: int


def _products(formula: str, tokens: list[_Token]) -> dict[int, _Product]:
    """The factors after each word, by the number of its token; those after a parenthesis, by both of its
    tokens: they are known when it opens, so no term is multiplied twice."""
    found = dict[int, _Product]()
    opened = list[int]()
    for number, token in enumerate(tokens):
        if token.kind == "(":
            opened.append(number)
        elif token.kind in ("word", "number", ")"):
            found[number] = _product_after(formula, tokens, number)
            if token.kind == ")" and opened:
                found[opened.pop()] = found[number]
    return found


def _product_after(formula: str, tokens: list[_Token], number: int) -> _Product:
    value = 1.0
    here = number + 1
    if tokens[number].kind == "number" and tokens[here].kind == "*":
        return _Product(value, here)  # a weight, not a word
    while tokens[here].kind == "*":
        if tokens[here + 1].kind != "number":
            raise _cannot_read(formula, tokens[here + 1], Message("a number"))
        value = _finite(value * float(tokens[here + 1].text), formula, tokens[here + 1])
        here += 2
    return _Product(value, here)


def _finite(weight: float, formula: str, token: _Token) -> float:
    if not math.isfinite(weight):
        raise _cannot_read(formula, token, Message("weights whose product is finite"))
    return weight


def reads_alone(formula: str, read: Formula) -> bool:
    """Whether the formula means `read` without knowing any word, so that nothing about it was guessed."""
    try:
        return parse(formula) == read
    except SettingError:
        return False


def _tokens(formula: str, known: Callable[[str], bool] | None) -> Iterator[_Token]:
    here = 0
    after_term = False  # whether a word or a parenthesis ends before `here`
    while here < len(formula):
        letter = formula[here]
        if letter.isspace():
            here += 1
        elif letter in PARENTHESES:
            yield _Token(PARENTHESES[letter], letter, here)
            after_term = PARENTHESES[letter] == ")"
            here += 1
        elif letter in QUOTES:
            word, end = _read_quoted(formula, here)
            yield _Token("word", word, here)
            after_term = True
            here = end
        else:
            chunk_end = END_OF_CHUNK.search(formula, here)
            end = len(formula) if chunk_end is None else chunk_end.start()
            for token in _chunk(formula, here, end, known, after_term):
                yield token
                after_term = token.kind in ("word", "number")
            here = end


def _read_quoted(formula: str, start: int) -> tuple[str, int]:
    """The word between quotes, and where what follows it begins."""
    found = QUOTED[formula[start]].match(formula, start)
    if found is None:
        close = QUOTES[formula[start]]
        expected = Message("a word between {open} and {close}", open=formula[start], close=close)
        raise _cannot_read(formula, _Token("word", formula[start], start), expected)
    return ESCAPED.sub(r"\1", found[1]), found.end()


def _chunk(
    formula: str, start: int, end: int, known: Callable[[str], bool] | None, after_term: bool
) -> Iterator[_Token]:
    """What is between spaces and parentheses: a sign, a number, a word, or words and signs without
    spaces."""
    text = formula[start:end]
    signed = SIGNED.match(formula, start)
    weight = WEIGHT.fullmatch(text)
    factor = FACTOR.fullmatch(text) if after_term else None
    if signed and signed.end() == end:
        pieces = [*signed.group("sign", "number")]
    elif weight:
        pieces = [piece for piece in weight.group("sign", "number", "times") if piece]
    elif factor:
        pieces = [*factor.group("times", "number")]
    else:
        pieces = _pieces(text, known)
    place = start
    for piece in pieces:
        yield _token(piece, place)
        place += len(piece)


def _pieces(text: str, known: Callable[[str], bool] | None) -> list[str]:
    """Words and signs without spaces are cut only where the whole is no word and every piece is one."""
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
    if token.kind == "end":
        return SettingError(
            "Cannot read the formula: it ends at character {place}, where {expected} is expected. Write "
            "words joined by + and -, with spaces around the signs: king - man + woman.",
            place=token.place + 1,
            expected=expected,
        )
    before = formula[max(0, token.place - 30) : token.place]
    after = formula[token.place : token.place + 30]
    return SettingError(
        "Cannot read the formula at character {place}: expected {expected}, found '{found}': {shown} "
        "Write words joined by + and -, with spaces around the signs: king - man + woman.",
        place=token.place + 1,
        expected=expected,
        found=token.text,
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
