"""A map of characters as a tokenizer.json holds it: the precompiled_charsmap of SentencePiece.

It is a trie of UTF-8 bytes in a double array (Darts), and the strings that characters become. Other libraries
then replace the same characters as Inlaid does.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Mapping

from tokenizers import normalizers

BLOCK = 256
"""The children of a node are in one block, as labels are bytes."""
GROUP = 64
"""UTF-8 has so many continuation bytes."""
HAS_LEAF = 1 << 8
IS_LEAF = 1 << 31
OFFSET_BITS = 10


def mapping_normalizer(characters: Mapping[str, str]) -> normalizers.Normalizer:
    """A step of the library that replaces single characters.

    >>> mapping_normalizer({"國": "国"}).normalize_str("中國")
    '中国'
    """
    strings = bytearray()
    values: dict[bytes, int] = {}
    for before, after in characters.items():
        values[before.encode("utf-8")] = len(strings)
        strings += after.encode("utf-8") + b"\0"
    units = _double_array(values)
    return normalizers.Precompiled(len(units).to_bytes(4, "little") + units + bytes(strings))


def _double_array(values: Mapping[bytes, int]) -> bytes:
    """The nodes of the trie, four bytes each.

    The child of a node for a byte is at `base ^ byte`, and the node has the offset `place ^ base`. The base
    of the root is 0, and each other inner node has a group of places for itself. A key, which is never the
    beginning of another one, has one child, its value.
    """
    prefixes = sorted({key[:length] for key in values for length in range(1, len(key))})
    bases = {b"": 0} | {prefix: BLOCK + GROUP * number for number, prefix in enumerate(prefixes)}
    places = {key: bases[key[:-1]] ^ key[-1] for key in (*prefixes, *values)}
    units = {
        places[prefix]: prefix[-1] | (places[prefix] ^ bases[prefix]) << OFFSET_BITS for prefix in prefixes
    }
    used = {0, *bases.values(), *places.values()}
    free = (place for place in itertools.count(1) if place not in used)
    for (key, value), leaf in zip(values.items(), free, strict=False):
        units[places[key]] = key[-1] | HAS_LEAF | (places[key] ^ leaf) << OFFSET_BITS
        units[leaf] = value | IS_LEAF
    size = -(-(max(units, default=0) + 1) // BLOCK) * BLOCK
    return array("I", (units.get(place, 0) for place in range(size))).tobytes()
