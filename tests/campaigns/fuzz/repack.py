"""Changes behind checksums: the content of an archive is changed, then packed again by its own library."""

from __future__ import annotations

import functools
import io
import json
import pickletools
import tempfile
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz.bytes import raw
from fuzz.structure import Pairs, changed_json, json_text
from inlaid import array_writer, arrays

Content = dict[str, Any]
"""Arrays by name."""
DTYPES = ("f4", "f8", "f2", "i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8", "?")
HUGE = (0, 1, 1 << 20, 1 << 31, 1 << 40, 1 << 62)
BOMBS = 0.01
"""Share of mutants that are small on disk and large in memory."""
BOMB_ROWS = 1 << 20
SCRATCH = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())


# Arrays


def changed_arrays(content: Content, random: Random) -> Content:
    """One to three changes of names, dtypes, shapes or values."""
    content = dict(content)
    for _ in range(random.choice((1, 1, 2, 3))):
        if content:
            random.choice(ARRAY_CHANGES)(content, random.choice(list(content)), random)
    return content


def _values(content: Content, name: str, random: Random) -> None:
    array = np.array(content[name])
    if not array.size:
        return
    flat = array.reshape(-1)
    places = [random.randrange(flat.size) for _ in range(random.choice((1, 1, 3, 10)))]
    places += random.choice(([], [], [0], [flat.size - 1], range(flat.size)))
    for place in places:
        flat[place] = _special(array.dtype, flat, random)
    content[name] = array


def _special(dtype: np.dtype[Any], flat: np.ndarray, random: Random) -> Any:
    if dtype.kind in "US":
        return random.choice(("", "a", "the", "猫", "\0", "x" * 50, str(flat[random.randrange(flat.size)])))
    if dtype.kind == "f":
        return random.choice((np.nan, np.inf, -np.inf, 0, -0.0, np.finfo(dtype).max, 1e-40, 1, -1))
    if dtype.kind == "b":
        return random.random() < 0.5
    limits = np.iinfo(dtype)
    other = int(flat[random.randrange(flat.size)])
    value = random.choice(
        (0, 1, -1, 2, limits.max, limits.min, flat.size, flat.size + 1, other, other + 1, 1 << 33)
    )
    return min(max(value, limits.min), limits.max)


def _shorter(content: Content, name: str, random: Random) -> None:
    array = content[name]
    if array.ndim:
        content[name] = array[: random.choice((0, 1, len(array) // 2, max(0, len(array) - 1)))]


def _longer(content: Content, name: str, random: Random) -> None:
    array = content[name]
    if array.ndim:
        content[name] = np.concatenate([array, array[: random.choice((1, 1, len(array)))]])


def _narrower(content: Content, name: str, random: Random) -> None:
    array = content[name]
    if array.ndim > 1:
        content[name] = array[:, : random.choice((0, 1, max(0, array.shape[1] - 1)))]


def _shape(content: Content, name: str, random: Random) -> None:
    array = np.asarray(content[name])
    new = random.choice(((-1,), (1, -1), (-1, 1), (1, 1, -1), array.shape[::-1]))
    content[name] = array.reshape(new)


def _scalar(content: Content, name: str, random: Random) -> None:
    content[name] = np.zeros((), content[name].dtype)


def _dtype(content: Content, name: str, random: Random) -> None:
    array = np.asarray(content[name])
    new = np.dtype(random.choice(DTYPES))
    if random.random() < 0.5 and array.dtype.kind not in "USO" and array.nbytes % new.itemsize == 0:
        content[name] = np.frombuffer(array.tobytes(), new)
        return
    with np.errstate(all="ignore"):
        content[name] = array.astype(new)


def _reorder(content: Content, name: str, random: Random) -> None:
    array = content[name]
    if array.ndim:
        order = list(range(len(array)))
        random.shuffle(order)
        content[name] = array[random.choice((order, order[::-1], sorted(order, reverse=True)))]


def _drop(content: Content, name: str, random: Random) -> None:
    del content[name]


def _rename(content: Content, name: str, random: Random) -> None:
    content[random.choice((name + "x", random.choice(list(content)), "ids", "table.scales"))] = content.pop(
        name
    )


def _copy(content: Content, name: str, random: Random) -> None:
    content[random.choice(list(content))] = content[name]


ARRAY_CHANGES = (
    _values,
    _values,
    _values,
    _values,
    _shorter,
    _longer,
    _narrower,
    _shape,
    _scalar,
    _dtype,
    _dtype,
    _reorder,
    _drop,
    _rename,
    _copy,
)


# Files of arrays with checksums: vectors, corpora, checkpoints


def resealed(data: bytes, random: Random) -> bytes:
    """A file of arrays with other content, whose checksums are right."""
    content, metadata = (dict(part) for part in _opened(data))  # copies: what was opened is kept
    if random.random() < 0.3 and metadata:
        key = random.choice(list(metadata))
        tree = json.loads(metadata[key], object_pairs_hook=Pairs)
        metadata[key] = changed_json(tree, random)
        if random.random() < 0.1:
            del metadata[key]
    else:
        content = changed_arrays(content, random)
    if random.random() < 0.05 and content:
        shape = [0, random.choice(HUGE)]
        random.shuffle(shape)
        content[random.choice(list(content))] = array_writer.StreamedArray([], np.dtype("<f4"), tuple(shape))
    return _sealed(content, metadata)


def without_times(data: bytes) -> bytes:
    """A checkpoint that does not say how long it took, so that the same seed gives the same mutant."""
    content, metadata = _opened(data)
    about = json.loads(metadata["checkpoint"])
    about["progress"]["seconds"] = 1.0
    return _sealed(content, {**metadata, "checkpoint": json.dumps(about)})


@functools.lru_cache(maxsize=16)
def _opened(data: bytes) -> tuple[Content, dict[str, str]]:
    with tempfile.NamedTemporaryFile(dir=SCRATCH) as file:
        file.write(data)
        file.flush()
        opened = arrays.open_arrays(Path(file.name))
        return {name: np.array(opened.whole(name)) for name in opened.arrays}, dict(
            sorted(opened.metadata.items())
        )


def _sealed(content: Content, metadata: dict[str, str]) -> bytes:
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        path = Path(folder) / "sealed"
        array_writer.write(path, content, metadata)
        return path.read_bytes()


# Zip archives: npz, pytorch_model.bin


def rezipped_npz(data: bytes, random: Random) -> bytes:
    """A NumPy archive with other arrays, or with the header of an array changed, in a valid zip file."""
    if random.random() < BOMBS:
        return raw(_npz_bomb(), random)
    if random.random() < 0.5:
        loaded = _npz(data)
        packed = io.BytesIO()
        writer = random.choice((np.savez, np.savez_compressed))
        writer(packed, **changed_arrays(loaded, random))
        return packed.getvalue()
    return rezipped(data, random, _npy)


@functools.cache
def _npz_bomb() -> bytes:
    """256 kB that decompress to 256 MB."""
    packed = io.BytesIO()
    words = np.arange(BOMB_ROWS).astype("U7")
    np.savez_compressed(packed, words=words[:1], table=np.zeros((BOMB_ROWS, 64), np.float32))
    return packed.getvalue()


@functools.lru_cache(maxsize=4)
def _npz(data: bytes) -> Content:
    with np.load(io.BytesIO(data)) as loaded:
        return dict(loaded)


def _npy(data: bytes, random: Random) -> bytes:
    size = 10 + int.from_bytes(data[8:10], "little")
    header = raw(data[10:size], random)
    if random.random() < 0.3:
        shape = (random.choice(HUGE), random.choice(HUGE))
        header = repr(
            {
                "descr": random.choice(("<f4", "|O", "<U2", "<c8", ">f4")),
                "fortran_order": True,
                "shape": shape,
            }
        ).encode()
    return data[:8] + (len(header) & 0xFFFF).to_bytes(2, "little") + header + data[size:]


def rezipped_pytorch(data: bytes, random: Random) -> bytes:
    """A file of torch.save with other pickle opcodes or storages; the zip around them is whole."""
    return rezipped(data, random, _pickle)


def rezipped(data: bytes, random: Random, change: Any) -> bytes:
    """A zip archive packed again after a change of the content or the name of one entry, or without it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    place = random.randrange(len(entries))
    name, content = entries[place]
    kind = random.randrange(10)
    if kind == 0:
        del entries[place]
    elif kind == 1:
        entries.append((name, raw(content, random)))
    elif kind == 2:
        entries[place] = (random.choice((name + "x", "../" + name, "/x", "", entries[0][0])), content)
    elif kind == 3:
        entries[place] = (name, raw(content, random))
    elif kind == 4:
        entries[place] = (name, b"")
    else:
        place = next((at for at, (each, _) in enumerate(entries) if each.endswith(".pkl")), place)
        name, content = entries[place]
        entries[place] = (name, change(content, random))
    packed = io.BytesIO()
    compression = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return packed.getvalue()


def _pickle(data: bytes, random: Random) -> bytes:
    """Opcodes removed, repeated, swapped, or with another number or name."""
    try:
        places = [place for _, _, place in pickletools.genops(data)]
    except ValueError:
        return raw(data, random)
    ops = [data[start:stop] for start, stop in zip(places, [*places[1:], len(data)], strict=True)]
    for _ in range(random.choice((1, 1, 2))):
        place = random.randrange(len(ops))
        numbers = [at for at, op in enumerate(ops) if op[:1] in b"KMJ\x8a"]
        kind = random.randrange(6)
        if kind <= 2 and numbers:
            ops[random.choice(numbers)] = _long(
                random.choice((0, 1, 2, 255, -1, 1 << 31, 1 << 40, 1 << 62, 1 << 70))
            )
        elif kind == 3:
            del ops[place]
        elif kind == 4:
            ops.insert(random.randrange(len(ops)), ops[place])
        else:
            ops[place] = raw(ops[place], random)
        if not ops:
            break
    return b"".join(ops)


def _long(value: int) -> bytes:
    body = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(body)]) + body


# Tables of other libraries


def repacked_parquet(data: bytes, random: Random) -> bytes:
    """A parquet file with other columns: values, nulls, types, lengths of lists, names."""
    import pyarrow as arrow
    from pyarrow import parquet

    if random.random() < BOMBS:
        return _parquet_bomb(random.choice((1 << 12, BOMB_ROWS)))
    table = parquet.read_table(io.BytesIO(data))
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    fields = list(columns.items())
    for _ in range(random.choice((1, 1, 2))):
        place = random.randrange(len(fields))
        fields[place : place + 1] = _column(*fields[place], random, arrow)
    shortest = min((len(column) for _, column in fields), default=0)
    built = arrow.Table.from_arrays([column[:shortest] for _, column in fields], [name for name, _ in fields])
    packed = io.BytesIO()
    codec = random.choice(("snappy", "none", "gzip", "zstd"))
    rows = random.choice((1, 7, 1000))
    parquet.write_table(
        built, packed, compression=codec, row_group_size=rows, use_dictionary=random.random() < 0.5
    )
    return packed.getvalue()


@functools.cache
def _parquet_bomb(rows: int) -> bytes:
    """Some kilobytes whose columns, one value again and again, take 256 MB in memory."""
    import pyarrow as arrow
    from pyarrow import parquet

    vectors = arrow.FixedSizeListArray.from_arrays(
        arrow.repeat(arrow.scalar(0.5, arrow.float32()), rows * 64), 64
    )
    table = arrow.table(
        {"word": arrow.repeat("w", rows), "vector": vectors, "text": arrow.repeat("a b", rows)}
    )
    packed = io.BytesIO()
    parquet.write_table(table, packed, compression="zstd")
    return packed.getvalue()


def _column(name: str, column: Any, random: Random, arrow: Any) -> list[tuple[str, Any]]:
    kind = random.randrange(9)
    values = column.to_pylist()
    if kind == 0:
        return []
    if kind == 1:
        return [(name, column), (random.choice((name, "word", "vector", "count", "text")), column)]
    if kind == 2:
        return [(random.choice(("", "word", "vector", "count", name + "x")), column)]
    if kind == 3:
        values[random.randrange(len(values))] = None
        return [(name, arrow.array(values, column.type))]
    if kind == 4:
        other = random.choice((arrow.string(), arrow.binary(), arrow.float64(), arrow.int8(), arrow.bool_()))
        return [(name, arrow.nulls(len(values), other))]
    if kind == 5:
        return [(name, column.dictionary_encode())] if not isinstance(values[0], list) else [(name, column)]
    if kind == 6:
        return [(name, arrow.array([[each] for each in values]))]
    if kind == 7:
        return [(name, arrow.array([{"a": each} for each in values]))]
    if isinstance(values[0], list):
        changed = [each[: random.choice((len(each), len(each), 0, 1))] for each in values]
        special = random.choice((1e300, float("nan"), None, 0.0))
        changed[0] = [special, *changed[0][1:]]
        return [(name, arrow.array(changed, arrow.list_(arrow.float64())))]
    if isinstance(values[0], int):
        return [
            (name, arrow.array([random.choice((each, -1, 1 << 62, None)) for each in values], arrow.int64()))
        ]
    return [(name, arrow.array([random.choice((each, "", each * 1000, "\0")) for each in values]))]


def repacked_hdf5(data: bytes, random: Random) -> bytes:
    """An HDF5 file with other datasets: values, shapes, types, storage, and files elsewhere."""
    import h5py

    content: Content = {}
    with h5py.File(io.BytesIO(data), "r") as file:
        file.visititems(
            lambda name, item: content.update({name: item[...]}) if isinstance(item, h5py.Dataset) else None
        )
    special = random.choice(sorted(content)) if random.random() < 0.4 else None
    if special is None:
        content = changed_arrays(content, random)
    packed = io.BytesIO()
    with h5py.File(packed, "w") as file:
        for name, array in content.items():
            if name != special:
                file[name] = array
        if special is not None:
            _odd_dataset(file, special, content[special], random)
    return packed.getvalue()


def _odd_dataset(file: Any, name: str, array: np.ndarray, random: Random) -> None:
    import h5py

    kind = random.randrange(10)
    if kind == 0:
        shape = tuple(random.choice((*each_size(size), 1 << 40)) for size in array.shape)
        file.create_dataset(name, shape, "f4", chunks=tuple(min(size, 16) or 1 for size in shape))
    elif kind == 1:
        file.create_dataset(name, array.shape, "f4", external=[("/etc/hostname", 0, h5py.h5f.UNLIMITED)])
    elif kind == 2:
        layout = h5py.VirtualLayout(array.shape, "f4")
        layout[...] = h5py.VirtualSource("/tmp/other.hdf5", "x", array.shape)
        file.create_virtual_dataset(name, layout)
    elif kind == 3:
        file[name] = h5py.ExternalLink("/tmp/other.hdf5", "x")
    elif kind == 4:
        file[name] = h5py.SoftLink("/nowhere")
    elif kind == 5:
        file[name] = random.choice((np.array(["a", "b"], "O"), np.array([b"ab"]), h5py.Empty("f4"), "text"))
    elif kind == 6:
        file[name] = np.zeros(array.shape, [("a", "f4"), ("b", "i2")])
    elif kind == 7:
        file[name] = array.astype(random.choice((">f4", ">f8", "<f2", "<c8", "?", "i8")))
    elif kind == 8:
        file.create_group(name)
    else:
        file.create_dataset(name, data=array, compression="gzip", chunks=True, shuffle=True)


def each_size(size: int) -> tuple[int, ...]:
    return (size, size, size, size + 1, 0)


def json_in(data: bytes, random: Random) -> bytes:
    return json_text(data, random)
