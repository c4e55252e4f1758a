"""Changes of JSON, of safetensors headers and of Protocol Buffers that leave the file well-formed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from fuzz.bytes import raw

RAW_TEXTS = (
    "[" * 200_000 + "]" * 200_000,
    "[" * 200_000,
    '{"a":' * 100_000 + "1" + "}" * 100_000,
    "9" * 5000,
    "1e400",
    "-1e-400",
    "NaN",
    "-Infinity",
    '"\\ud800"',
    '"a\\u0000b"',
    "",
    "/* */ 1",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    7,
    0.5,
    -0.0,
    1 << 31,
    1 << 62,
    1 << 64,
    10**30,
    1e308,
    "",
    "a",
    "猫",
    "../../x",
    "/dev/zero",
    "x" * 5000,
    [],
    {},
    [[]],
    [0],
    [None],
    ["a", 1],
    {"a": 1},
    {"": {}},
)


@dataclass(frozen=True)
class Written:
    """JSON that Python cannot hold or would not write."""

    text: str


class Pairs(list[tuple[str, Any]]):
    """A JSON object that may have a key twice."""


def json_text(data: bytes, random: Random) -> bytes:
    """A JSON document with one to three nodes changed."""
    return changed_json(json.loads(data, object_pairs_hook=Pairs), random).encode("utf-8", "surrogatepass")


def changed_json(tree: Any, random: Random) -> str:
    holder = [_copy(tree)]
    for _ in range(random.choice((1, 1, 2, 3))):
        _change(holder, random)
    return _text(holder[0]) if holder else ""


def _copy(tree: Any) -> Any:
    if isinstance(tree, Pairs):
        return Pairs((key, _copy(value)) for key, value in tree)
    if isinstance(tree, dict):
        return Pairs((key, _copy(value)) for key, value in tree.items())
    return [_copy(each) for each in tree] if isinstance(tree, (list, tuple)) else tree


def _change(holder: list[Any], random: Random) -> None:
    """Descend to a random node and change it. Short paths are likelier: a large list is only one of many."""
    parent = holder
    while parent:
        place = random.randrange(len(parent))
        value = parent[place][1] if isinstance(parent, Pairs) else parent[place]
        if not isinstance(value, list) or not value or random.random() < 0.2:
            break
        parent = value
    if not parent:
        return
    random.choice(NODE_CHANGES)(parent, place, random)


def _set(parent: list[Any], place: int, value: Any) -> None:
    parent[place] = (parent[place][0], value) if isinstance(parent, Pairs) else value


def _get(parent: list[Any], place: int) -> Any:
    return parent[place][1] if isinstance(parent, Pairs) else parent[place]


def _delete(parent: list[Any], place: int, random: Random) -> None:
    del parent[place]


def _duplicate(parent: list[Any], place: int, random: Random) -> None:
    copy = _copy(_get(parent, place))
    if random.random() < 0.5:
        copy = random.choice(VALUES)
    parent.insert(
        random.randrange(len(parent) + 1), (parent[place][0], copy) if isinstance(parent, Pairs) else copy
    )


def _replace(parent: list[Any], place: int, random: Random) -> None:
    _set(parent, place, _copy(random.choice(VALUES)))


def _replace_raw(parent: list[Any], place: int, random: Random) -> None:
    _set(parent, place, Written(random.choice(RAW_TEXTS)))


def _nudge(parent: list[Any], place: int, random: Random) -> None:
    """A number a little or much different, a text with a character more, a list shuffled or cut."""
    value = _get(parent, place)
    if isinstance(value, bool) or value is None:
        value = not value
    elif isinstance(value, (int, float)):
        value = random.choice(
            (value + 1, value - 1, -value, value * 2, value * 1000, float(value), str(value))
        )
    elif isinstance(value, str):
        value = random.choice((value + "x", value[:-1], value.upper(), value * 50, [value]))
    elif isinstance(value, Pairs):
        value = random.choice(
            (Pairs(value[::-1]), [item for _, item in value], Pairs(value[: len(value) // 2]))
        )
    elif isinstance(value, list):
        value = random.choice((value[::-1], value[: len(value) // 2], value + value, [value]))
    _set(parent, place, value)


def _rename(parent: list[Any], place: int, random: Random) -> None:
    if isinstance(parent, Pairs):
        key = random.choice(
            ("", parent[place][0] + "x", parent[random.randrange(len(parent))][0], "__metadata__")
        )
        parent[place] = (key, parent[place][1])


def _swap(parent: list[Any], place: int, random: Random) -> None:
    other = random.randrange(len(parent))
    held = _get(parent, other)
    _set(parent, other, _get(parent, place))
    _set(parent, place, held)


NODE_CHANGES: tuple[Callable[[list[Any], int, Random], None], ...] = (
    _delete,
    _duplicate,
    _replace,
    _replace,
    _replace,
    _nudge,
    _nudge,
    _rename,
    _swap,
    _replace_raw,
)


def _text(tree: Any) -> str:
    if isinstance(tree, Pairs):
        return "{" + ", ".join(f"{json.dumps(key)}: {_text(value)}" for key, value in tree) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(_text, tree)) + "]"
    if isinstance(tree, Written):
        return tree.text
    return json.dumps(tree, ensure_ascii=False)


def safetensors_header(data: bytes, random: Random) -> bytes:
    """The header of a safetensors file changed as JSON, with the right length before it."""
    size = int.from_bytes(data[:8], "little")
    header = json_text(data[8 : 8 + size], random)
    header += b" " * (-len(header) % 8)
    rest = data[8 + size :]
    if random.random() < 0.2:
        rest = random.choice((rest[:-1], rest + b"\0", rest + rest, b""))
    return len(header).to_bytes(8, "little") + header + rest


def protobuf(data: bytes, random: Random) -> bytes:
    """A Protocol Buffers message with one to three fields changed, at any depth, and all lengths right."""
    fields = _parsed(data)
    if not fields:
        return raw(data, random)
    for _ in range(random.choice((1, 1, 2, 3))):
        _change_field(fields, random, depth=0)
    return _message(fields)


Field = tuple[int, int, int | bytes]
"""Number, wire type and value of a field."""


def _change_field(fields: list[Field], random: Random, depth: int) -> None:
    if not fields:
        return
    place = random.randrange(len(fields))
    if depth == 0 and random.random() < 0.5:  # pieces are most of a message, settings follow them
        place = max(0, len(fields) - 1 - random.randrange(4))
    number, wire, value = fields[place]
    if isinstance(value, bytes) and wire == 2 and random.random() < 0.7:
        inner = _parsed(value)
        if inner:
            _change_field(inner, random, depth + 1)
            fields[place] = (number, wire, _message(inner))
            return
    kind = random.randrange(5)
    if kind == 0:
        del fields[place]
    elif kind == 1:
        fields.insert(random.randrange(len(fields) + 1), fields[place])
    elif kind == 2:
        fields[place] = (random.randrange(1, 60), wire, value)
    elif isinstance(value, int):
        fields[place] = (number, wire, random.choice((0, 1, 2, 3, 4, 7, 1 << 31, (1 << 64) - 1, value + 1)))
    else:
        fields[place] = (number, wire, raw(value, random) if wire == 2 else random.randbytes(len(value)))


def _parsed(data: bytes) -> list[Field]:
    """The fields of a message; none where the bytes are not a message."""
    fields = list[Field]()
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        wire = tag & 7
        if tag < 8 or wire not in (0, 1, 2, 5):
            return []
        if wire == 0:
            value, place = _varint(data, place)
            fields.append((tag >> 3, wire, value))
            continue
        size = {1: 8, 5: 4}.get(wire, 0)
        if wire == 2:
            size, place = _varint(data, place)
        if place + size > len(data):
            return []
        fields.append((tag >> 3, wire, data[place : place + size]))
        place += size
    return fields


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            break
        value |= (data[place] & 0x7F) << shift
        place += 1
        if data[place - 1] < 0x80:
            break
    return value, place


def _message(fields: list[Field]) -> bytes:
    parts = bytearray()
    for number, wire, value in fields:
        parts += _written(number << 3 | wire)
        if isinstance(value, int):
            parts += _written(value & ((1 << 64) - 1))
        else:
            parts += (_written(len(value)) if wire == 2 else b"") + value
    return bytes(parts)


def _written(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
