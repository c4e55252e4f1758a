"""Arrays on disk: what was written comes back, and a changed bit never does."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file

from inlaid import array_writer, arrays
from inlaid.errors import FormatError
from inlaid.values import Values

CONTENT = {
    "table": np.arange(600_000, dtype=np.float32).reshape(-1, 3),  # more than two chunks
    "words": np.frombuffer("猫狗".encode(), np.uint8),
    "none": np.zeros((0, 4), np.float64),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    array_writer.write(tmp_path / "a", CONTENT, {"card": "{} 中文"})
    return tmp_path / "a"


def test_arrays_come_back(path: Path):
    opened = arrays.open_arrays(path)
    assert opened.metadata == {"card": "{} 中文"}
    for name, array in CONTENT.items():
        assert opened.whole(name).dtype == array.dtype
        np.testing.assert_array_equal(opened.whole(name), array)


def test_any_safetensors_reader_opens_the_file(path: Path):
    found = load_file(path)
    assert found.keys() == CONTENT.keys()
    for name, array in CONTENT.items():
        np.testing.assert_array_equal(found[name], array)


def test_bfloat16_is_kept_as_its_bits(tmp_path: Path):
    bits = np.array([[0x3F80, 0xBF00], [0x7F80, 0x0001]], np.uint16)  # 1, -0.5, infinity, the smallest number
    array_writer.write(
        tmp_path / "a", {"w": array_writer.Raw(bits, "BF16"), "u": bits, "step": np.array([3])}, {}
    )
    opened = arrays.open_arrays(tmp_path / "a")
    assert opened.dtypes == {"w": "BF16", "u": "U16", "step": "I64"}
    for name in ("w", "u"):
        assert opened.whole(name).dtype == np.uint16
        assert opened.whole(name).tobytes() == bits.tobytes()
    assert opened.rows("w", [1]).tolist() == bits[[1]].tolist()
    assert opened.verify() == 24
    raw = bytearray((tmp_path / "a").read_bytes())
    raw[-1] ^= 1
    (tmp_path / "a").write_bytes(raw)
    with pytest.raises(FormatError, match="damaged"):
        arrays.open_arrays(tmp_path / "a").verify()


def test_torch_reads_bfloat16_as_such(tmp_path: Path):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
    load = pytest.importorskip("safetensors.torch").load_file
    tensor = torch.tensor([[1.0, -0.5, 3.140625]], dtype=torch.bfloat16)
    bits = tensor.view(torch.uint16).numpy()
    pieces = (bits[:, start : start + 1].reshape(-1) for start in range(3))
    streamed = array_writer.StreamedArray(pieces, bits.dtype, bits.shape, name="BF16")
    array_writer.write(tmp_path / "a", {"whole": array_writer.Raw(bits, "BF16"), "streamed": streamed}, {})
    found = load(tmp_path / "a")
    for name in ("whole", "streamed"):
        assert found[name].dtype == torch.bfloat16
        assert torch.equal(found[name], tensor)


def test_raw_bits_of_another_width_are_refused(tmp_path: Path):
    for array, dtype in ((np.zeros(3, np.float32), "BF16"), (np.zeros(3, np.uint16), "BF17")):
        with pytest.raises(ValueError, match=dtype):
            array_writer.write(tmp_path / "a", {"w": array_writer.Raw(array, dtype)}, {})
    assert not list(tmp_path.iterdir())


def test_a_mapped_array_cannot_be_written_to(path: Path):
    with pytest.raises(ValueError, match="read-only"):
        arrays.open_arrays(path).whole("table")[0, 0] = 1


def test_a_stream_is_the_same_file_as_the_array(tmp_path: Path, path: Path):
    table = CONTENT["table"]
    pieces = (table[start : start + 70_001] for start in range(0, len(table), 70_001))
    array_writer.write(
        tmp_path / "b",
        {**CONTENT, "table": array_writer.StreamedArray(pieces, table.dtype, table.shape)},
        {"card": "{} 中文"},
    )
    assert (tmp_path / "b").read_bytes() == path.read_bytes()


def test_a_stream_shorter_than_promised_leaves_no_file(tmp_path: Path):
    with pytest.raises(ValueError, match="promised"):
        array_writer.write(
            tmp_path / "b",
            {"a": array_writer.StreamedArray([np.zeros(3, np.int32)], np.dtype(np.int32), (4,))},
            {},
        )
    assert not list(tmp_path.iterdir())


def test_rows_are_verified_in_place(path: Path):
    raw = bytearray(path.read_bytes())
    raw[-200] ^= 1  # the end of the table
    path.write_bytes(raw)
    opened = arrays.open_arrays(path)
    opened.rows("table", range(10))
    with pytest.raises(FormatError, match="damaged between bytes"):
        opened.rows("table", [5, 199_995])
    with pytest.raises(FormatError, match="damaged"):
        opened.verify()


def test_every_flipped_bit_is_found(path: Path):
    """Anywhere in the file: either an error, or (where JSON does not care) exactly what was written."""
    whole = path.read_bytes()
    random_ = random.Random(1)
    header = 8 + int.from_bytes(whole[:8], "little")
    places = [random_.randrange(header) for _ in range(300)] + [
        random_.randrange(header, len(whole)) for _ in range(100)
    ]
    harmless = 0
    for place in places:
        raw = bytearray(whole)
        raw[place] ^= 1 << random_.randrange(8)
        path.write_bytes(raw)
        try:
            opened = arrays.open_arrays(path)
            opened.verify()
        except FormatError:
            continue
        harmless += 1
        assert opened.metadata == {"card": "{} 中文"}
        for name, array in CONTENT.items():
            np.testing.assert_array_equal(opened.whole(name), array)
    assert harmless < 20


@pytest.mark.parametrize("size", [0, 1, 8, 9, 100, 2_000_000])
def test_a_file_cut_short_is_refused(path: Path, size: int):
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(FormatError):
        arrays.open_arrays(path)


def test_a_missing_array_is_named(path: Path):
    with pytest.raises(FormatError, match="expected an array 'ids', found only"):
        arrays.open_arrays(path).whole("ids")


@given(
    array=hnp.arrays(
        st.sampled_from([np.float32, np.float16, np.int8, np.int64, np.uint8, np.bool_]),
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5),
    ),
    text=st.dictionaries(st.text(min_size=1), st.text(), max_size=3).filter(
        lambda keys: not any(k.startswith("inlaid.") for k in keys)
    ),
)
@settings(max_examples=60, deadline=None)
def test_any_array_and_any_text_come_back(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray, text: dict[str, str]
):
    path = tmp_path_factory.mktemp("a") / "a"
    array_writer.write(path, {"a": array}, text)
    opened = arrays.open_arrays(path)
    assert opened.metadata == text
    assert opened.whole("a").dtype == array.dtype
    np.testing.assert_array_equal(opened.whole("a"), array)


@pytest.mark.parametrize("shape", [(0, 1 << 62), (1 << 62, 0, 3), (0, *[1] * 70)])
def test_a_shape_that_no_array_has_is_refused(tmp_path: Path, shape: tuple[int, ...]):
    array_writer.write(tmp_path / "a", {"a": array_writer.StreamedArray([], np.dtype("<f4"), shape)}, {})
    with pytest.raises(FormatError, match="'a' has shape .* which no array has"):
        arrays.open_arrays(tmp_path / "a")


@pytest.mark.parametrize("id", [-1, 200_000, 1 << 40])
def test_a_row_that_does_not_exist_is_an_index_error(path: Path, id: int):
    with pytest.raises(IndexError, match=f"row {id} of 200000"):
        arrays.open_arrays(path).rows("table", [3, id])


def number_in(path: Path, numbers: np.ndarray, values: Values) -> None:
    """Write numbers with right checksums, and read them as what they must be."""
    array_writer.write(path, {"a": numbers}, {})
    opened = arrays.open_arrays(path)
    opened.expect("a", values)
    opened.whole("a")


@pytest.mark.parametrize("place", [0, 1, 131_071, 131_072, 299_999])
def test_a_number_out_of_bounds_is_named_in_whichever_chunk_it_is(tmp_path: Path, place: int):
    bounds = Values(dtypes=("I64",), shape=(300_000,), low=0, high=299_999, ascending=True)
    right = np.arange(300_000)
    number_in(tmp_path / "a", right, bounds)
    for wrong in (-1, 300_000):
        changed = right.copy()
        changed[place] = wrong
        expected = f"number {place:,} of 'a' is {wrong}; expected a number from 0 to 299999"
        with pytest.raises(FormatError, match=expected):
            number_in(tmp_path / "a", changed, bounds)


@pytest.mark.parametrize("place", [1, 131_071, 131_072, 131_073, 299_999])
def test_a_number_that_falls_is_named_also_at_the_border_of_two_chunks(tmp_path: Path, place: int):
    bounds = Values(dtypes=("I64",), shape=(None,), ascending=True)
    changed = np.arange(300_000)
    changed[place] = changed[place - 1] - 1
    with pytest.raises(
        FormatError, match=f"number {place:,} of 'a' is .*; expected at least the number before"
    ):
        number_in(tmp_path / "a", changed, bounds)
    changed[place] = changed[place - 1]
    number_in(tmp_path / "a", changed, bounds)
    with pytest.raises(FormatError, match="expected more than the number before it"):
        number_in(tmp_path / "a", changed, replace(bounds, distinct=True))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("place", [131_072, 262_144])
def test_a_number_that_falls_at_a_border_is_found_in_whichever_order_chunks_are_read(
    tmp_path: Path, place: int, order: tuple[int, ...]
):
    numbers = np.arange(300_000)
    numbers[place] = numbers[place - 1] - 1
    array_writer.write(tmp_path / "a", {"a": numbers}, {})
    opened = arrays.open_arrays(tmp_path / "a")
    opened.expect("a", Values(dtypes=("I64",), shape=(None,), ascending=True))
    with pytest.raises(FormatError, match=f"number {place:,} of 'a' is"):
        for chunk in order:
            opened.rows("a", np.array([131_072 * chunk + 5]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_named(tmp_path: Path, dtype: type, wrong: float):
    values = Values(dtypes=("F16", "F32", "F64"), shape=(None, None), finite=True)
    numbers = np.full((4, 3), np.finfo(dtype).max, dtype)
    number_in(tmp_path / "a", numbers, values)
    numbers[2, 1] = wrong
    with pytest.raises(FormatError, match=f"number 7 of 'a' is {wrong}; expected a finite number"):
        number_in(tmp_path / "a", numbers, values)


def test_the_ends_of_offsets_are_given(tmp_path: Path):
    ends = Values(dtypes=("I64",), shape=(None,), first=0, last=9)
    number_in(tmp_path / "a", np.array([0, 4, 9]), ends)
    with pytest.raises(FormatError, match="number 0 of 'a' is 1; expected 0"):
        number_in(tmp_path / "a", np.array([1, 4, 9]), ends)
    with pytest.raises(FormatError, match="number 2 of 'a' is 8; expected 9"):
        number_in(tmp_path / "a", np.array([0, 4, 8]), ends)


def test_another_dtype_or_shape_is_refused(tmp_path: Path):
    for numbers in (np.zeros(3, np.int32), np.zeros(4), np.zeros((3, 1)), np.zeros(())):
        with pytest.raises(FormatError, match=r"expected F64 of shape \[3\]"):
            number_in(tmp_path / "a", numbers, Values(dtypes=("F64",), shape=(3,)))
