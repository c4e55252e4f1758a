"""Decimal numbers, read and written exactly: lines of a word and its numbers to float32 and back.

A number is scaled in float64, with a relative error below `ERROR`. If everything within that error rounds to
one float32, it is the float32 of the exact number. If not (one in 30 million, and whatever is not an ordinary
decimal), the line is returned to the caller, for the plain version.
"""

from __future__ import annotations

import math

import numpy as np

from inlaid.kernels.compile import kernel, part

TAB = 9
NEWLINE = 10
RETURN = 13
SPACE = 32
PLUS = 43
MINUS = 45
POINT = 46
ZERO = 48
BIG_E = 69
SMALL_E = 101
FARTHEST = 64
"""Powers of ten beyond this one are left to the plain version; float32 ends at 10^38 and, with 18 digits
before the exponent, at 10^-63."""
POWERS = np.array([float(f"1e{power}") for power in range(-FARTHEST, FARTHEST + 1)])
FULL = 10**17
"""A mantissa that has reached this takes no more digits: they change it by less than one part in 10^17."""
ERROR = 2.0**-50
"""Four roundings to float64 (mantissa, power, product, and the exact one we compare with) and the digits left
out: 4.2 * 2^-53."""
LARGEST = np.float64(np.finfo(np.float32).max)
EXACT = 2.0**53
"""Whole numbers below this are exact in float64."""
SIGN = np.uint32(1 << 31)
WIDEST = 17
"""Bytes of the longest number written, with the space before it: ` -0.000123456789`, ` -1.23456789e-38`."""
FEWEST = 6
MOST = 9
"""Every decimal of 6 digits survives float32 and every float32 survives 9 digits."""


@part
def _nearest(mantissa, exponent):
    # The float32 nearest to mantissa * 10^exponent, or -1 where that is not certain or is too large.
    if mantissa == 0:
        return np.float32(0)
    if exponent < -FARTHEST or exponent > FARTHEST:
        return np.float32(-1)
    value = np.float64(mantissa) * POWERS[exponent + FARTHEST]
    if exponent >= 0 and value < EXACT:
        return np.float32(value)
    low = np.float32(value * (1.0 - ERROR))
    high = np.float32(value * (1.0 + ERROR))
    return low if low == high and np.float64(high) <= LARGEST else np.float32(-1)


@part
def _digits(text, here, mantissa):
    # Digits from `here` on: mantissa with those that fit, how many were left out, where they end.
    left_out = 0
    while ZERO <= text[here] <= ZERO + 9:
        if mantissa < FULL:
            mantissa = mantissa * 10 + (text[here] - ZERO)
        else:
            left_out += 1
        here += 1
    return mantissa, left_out, here


@part
def _number(text, here):
    # The number that starts at `here`, without its sign, and where it ends; -1 where it is left to the plain
    # version.
    mantissa, exponent, whole = _digits(text, here, np.int64(0))
    seen = whole - here
    here = whole
    if text[here] == POINT:
        mantissa, left_out, end = _digits(text, here + 1, mantissa)
        exponent -= end - here - 1 - left_out
        seen += end - here - 1
        here = end
        if mantissa == 0:
            exponent = 0
    if seen > 0 and (text[here] == SMALL_E or text[here] == BIG_E):
        negative = text[here + 1] == MINUS
        first = here + 2 if negative or text[here + 1] == PLUS else here + 1
        power, left_out, here = _digits(text, first, np.int64(0))
        seen = here - first if left_out == 0 else 0
        exponent += -power if negative else power
    return (_nearest(mantissa, exponent) if seen > 0 else np.float32(-1)), here


@kernel
def parse_lines(text, dim, values, words):
    # text (size,) u1, lines of a word and dim numbers, the last ended too; values (lines, dim) u4, filled:
    # the bits of the numbers
    # words (lines, 3) i8, filled: where line n starts, where its word ends (-1: the line is for the plain
    # way), where the line ends
    here = 0
    for line in range(words.shape[0]):
        start = here
        while text[here] != SPACE and text[here] != TAB and text[here] != NEWLINE:
            here += 1
        word = here
        column = 0
        plain = here > start
        while plain:
            while text[here] == SPACE or text[here] == TAB:
                here += 1
            if text[here] == NEWLINE or (text[here] == RETURN and text[here + 1] == NEWLINE):
                break
            negative = text[here] == MINUS
            value, end = _number(text, here + 1 if negative or text[here] == PLUS else here)
            plain = column < dim and value >= 0 and (text[end] <= SPACE)
            if plain:
                bits = np.float32(value).view(np.uint32)
                values[line, column] = (
                    bits | SIGN if negative else bits
                )  # not -value: fast math may drop the sign of a zero
            column = column + 1
            here = end
        while text[here] != NEWLINE:
            here += 1
        words[line, 0] = start
        words[line, 1] = word if plain and column == dim else -1
        words[line, 2] = here
        here += 1


@part
def _put(out, filled, digits, count):
    # `count` digits into out[filled:], the last one last.
    for place in range(count - 1, -1, -1):
        out[filled + place] = ZERO + digits % 10
        digits //= 10
    return filled + count


@part
def _put_number(out, filled, digits, count, exponent, precision):
    # digits (`count` of them, the last not 0) * 10^(exponent - count + 1), laid out as %.{precision}g does.
    if -5 < exponent < 0:
        out[filled] = ZERO
        out[filled + 1] = POINT
        for place in range(-1 - exponent):
            out[filled + 2 + place] = ZERO
        return _put(out, filled + 1 - exponent, digits, count)
    wide = exponent >= precision or exponent < 0
    whole = 1 if wide else exponent + 1
    if count > whole:
        scale = 10 ** (count - whole)
        filled = _put(out, filled, digits // scale, whole)
        out[filled] = POINT
        filled = _put(out, filled + 1, digits % scale, count - whole)
    else:
        filled = _put(out, filled, digits * 10 ** (whole - count), whole)
    if wide:
        out[filled] = SMALL_E
        out[filled + 1] = MINUS if exponent < 0 else PLUS
        filled = _put(out, filled + 2, abs(exponent), 2)
    return filled


@part
def _shortest(value):
    # The fewest digits, from 6 to 9, that read back as `value`: digits, exponent of the first, how many; 0
    # digits: for the plain version.
    exponent = np.int64(math.floor(math.log10(np.float64(value))))
    for count in range(FEWEST, MOST + 1):
        here = exponent
        scaled = np.float64(value) * POWERS[count - 1 - here + FARTHEST]
        if scaled < POWERS[count - 1 + FARTHEST]:  # the logarithm was rounded up
            here -= 1
            scaled = np.float64(value) * POWERS[count - 1 - here + FARTHEST]
        digits = np.int64(np.rint(scaled))
        exact = 0 <= count - 1 - here <= 12  # 24 bits times 5^12 fit in 53
        if not exact and abs(abs(scaled - np.float64(digits)) - 0.5) < 1e-5:
            break  # which way to round takes more digits than these
        if digits >= np.int64(POWERS[count + FARTHEST]):
            here += 1
            digits //= 10
        if _nearest(digits, here - count + 1) == value:
            return digits, here, count
    return np.int64(0), exponent, 0


@kernel
def format_numbers(values, ends, out):
    # values (rows, dim) f4, finite; out (rows * dim * WIDEST,) u1, filled: numbers, a space before each
    # ends (rows,) i8, filled: where row n ends in out; returns the first row that is left to the plain
    # version, or how many there are
    filled = 0
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            value = values[row, column]
            out[filled] = SPACE
            filled += 1
            if np.float32(value).view(np.uint32) >= SIGN:
                out[filled] = MINUS
                filled += 1
            value = abs(value)
            if value == 0:
                out[filled] = ZERO
                filled += 1
                continue
            digits, exponent, precision = _shortest(value)
            if precision == 0:
                return row
            count = precision
            while digits % 10 == 0:
                digits //= 10
                count -= 1
            filled = _put_number(out, filled, digits, count, exponent, precision)
        ends[row] = filled
    return values.shape[0]
