"""Raw changes of bytes, and changes of the lines of a text."""

from __future__ import annotations

from random import Random

NUMBERS = (
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0xFFFFFFFF,
    1 << 62,
    (1 << 63) - 1,
    (1 << 64) - 1,
)
TEXTS = (
    b" ",
    b"\n",
    b"\t",
    b"\r\n",
    b"\0",
    b"nan",
    b"inf",
    b"-",
    b"1e999",
    b"99999999999",
    b"\xff\xfe",
    "猫".encode(),
    b"{",
    b'"',
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8",
    b"_" * 300,
)
HEAD = 200
"""Headers are short: three changes of ten are in the first bytes."""


def raw(data: bytes, random: Random) -> bytes:
    """One to three small changes: a flipped bit, a number, a cut, a repeated or moved piece, odd text."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        anywhere = random.random() < 0.7
        place = random.randrange((len(changed) if anywhere else min(len(changed), HEAD)) + 1)
        random.choice(CHANGES)(changed, place, random)
    return bytes(changed)


def _flip(data: bytearray, place: int, random: Random) -> None:
    if place < len(data):
        data[place] ^= 1 << random.randrange(8)


def _number(data: bytearray, place: int, random: Random) -> None:
    width = random.choice((1, 2, 4, 8))
    number = random.choice(NUMBERS) & ((1 << 8 * width) - 1)
    data[place : place + width] = number.to_bytes(width, random.choice(("little", "big")))


def _cut(data: bytearray, place: int, random: Random) -> None:
    del data[place:]


def _remove(data: bytearray, place: int, random: Random) -> None:
    del data[place : place + random.randrange(1, 40)]


def _repeat(data: bytearray, place: int, random: Random) -> None:
    start = random.randrange(len(data) + 1)
    data[place:place] = data[start : start + random.randrange(1, 60)]


def _insert(data: bytearray, place: int, random: Random) -> None:
    data[place:place] = random.choice(TEXTS)


def _noise(data: bytearray, place: int, random: Random) -> None:
    data[place : place + 4] = random.randbytes(4)


CHANGES = (_flip, _number, _cut, _remove, _repeat, _insert, _noise)


def lines(data: bytes, random: Random) -> bytes:
    """Lines removed, repeated, swapped or joined; their fields removed, repeated or replaced."""
    rows = data.split(b"\n")
    for _ in range(random.choice((1, 1, 2, 4))):
        if not rows:
            break
        row = random.randrange(len(rows))
        kind = random.randrange(7)
        if kind == 0:
            del rows[row]
        elif kind == 1:
            rows[row:row] = [rows[random.randrange(len(rows))]] * random.choice((1, 1, 2, 200))
        elif kind == 2:
            other = random.randrange(len(rows))
            rows[row], rows[other] = rows[other], rows[row]
        elif kind == 3 and row + 1 < len(rows):
            rows[row : row + 2] = [rows[row] + random.choice((b"", b" ", b"\t", b",")) + rows[row + 1]]
        else:
            rows[row] = _fields(rows[row], random)
    return random.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r")).join(rows)


def _fields(row: bytes, random: Random) -> bytes:
    separator = random.choice([each for each in (b" ", b"\t", b",", b":") if each in row] or [b" "])
    fields = row.split(separator)
    field = random.randrange(len(fields))
    kind = random.randrange(5)
    if kind == 0:
        del fields[field]
    elif kind == 1:
        fields[field:field] = [fields[field]] * random.choice((1, 2, 500))
    elif kind == 2:
        fields[field] = random.choice(TEXTS)
    elif kind == 3:
        fields[field] = str(random.choice((-1, *NUMBERS))).encode()
    else:
        random.shuffle(fields)
    return separator.join(fields)
