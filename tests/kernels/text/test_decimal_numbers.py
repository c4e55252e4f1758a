"""Numbers are read as float() reads them and written so that they come back: kernels against their plain
definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inlaid.formats.text import format_rows
from inlaid.kernels.text import decimal_numbers, reference

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
digits = st.text("0123456789", max_size=30)
exponent = st.builds(lambda e, power: f"{e}{power}", st.sampled_from("eE"), st.integers(-90, 60))
decimal = st.builds(
    lambda sign, whole, point, rest, exponent: f"{sign}{whole}{point}{rest}{exponent}",
    st.sampled_from(["", "+", "-"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    st.one_of(exponent, st.sampled_from(["", "e", "e+", "e+05"])),
)


CORNERS = [
    0.0,
    -0.0,
    1e-45,
    -1e-45,
    3.4028234663852886e38,
    3.3999999521443642e38,
    1.1754943508222875e-38,
    16384.0625,
    123456792.0,
    9.999999e9,
    0.0001,
    0.00001,
    999999.0,
    1e6,
]
ODD = [
    "-0",
    "-0.0",
    "0e99",
    "-.0e-99",
    "1e-45",
    "7e-46",
    "1.17549435e-38",
    "3.4028235e38",
    "3.4028236e38",
    "16777217",
    "16777219",
    "1e10",
    "123456789012345678901e-9",
]


def parsed(fields: list[str]) -> list[np.float32 | None]:
    """What the kernel makes of each field, a line for each; None where it hands the line back."""
    text = "".join(f"w {field}\n" for field in fields).encode()
    bits = np.empty((len(fields), 1), np.uint32)
    places = np.empty((len(fields), 3), np.int64)
    decimal_numbers.parse_lines(np.frombuffer(text, np.uint8), 1, bits, places)
    return [
        None if end < 0 else value
        for value, end in zip(bits.view(np.float32)[:, 0], places[:, 1], strict=True)
    ]


@settings(max_examples=100, deadline=None)
@given(st.lists(decimal, min_size=1, max_size=30))
@example(ODD)
def test_what_the_kernel_reads_is_what_python_reads(fields: list[str]):
    for field, value in zip(fields, parsed(fields), strict=True):
        expected = reference.decimals([field.encode()])
        if value is not None:
            assert expected is not None, field
            assert value.tobytes() == expected.tobytes(), field


def test_what_is_no_plain_decimal_is_handed_back():
    odd = [
        "nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "0x1p3",
        "1_0",
        "",
        "-",
        "+",
        ".",
        "e5",
        "1e",
        "1e+",
        "1.2.3",
        "1e5.0",
        "--1",
        "+-1",
        "1,5",
        "１",
        "1e999",
        "4e38",
    ]
    assert parsed(odd) == [None] * len(odd)
    assert all(reference.decimals([field.encode()]) is None for field in odd)


def test_ordinary_numbers_are_not_handed_back():
    random = np.random.default_rng(1).standard_normal(2000)
    texts = [
        text
        for number in random.tolist()
        for text in (f"{number:.5f}", f"{number:.6g}", repr(number), f"{number:.18e}", f"{number * 1e-9:.3e}")
    ]
    values = parsed(texts)
    assert sum(value is None for value in values) <= 1
    assert all(
        value == np.float32(float(text))
        for value, text in zip(values, texts, strict=True)
        if value is not None
    )


def test_doubts_are_handed_back():
    half = (np.float64(1) + np.float64(np.nextafter(np.float32(1), np.float32(2)))) / 2  # between two float32
    assert parsed([f"{half:.30f}", f"{half:.30f}1"]) == [None, None]


def test_numbers_as_long_as_a_book_are_refused_at_once():
    assert reference.decimals([b"1" * 10_000_000]) is None


@settings(max_examples=100, deadline=None)
@given(st.lists(finite, min_size=1, max_size=50))
@example(CORNERS)
def test_numbers_are_written_as_the_specification_says_and_come_back(numbers: list[float]):
    row = np.array([numbers], np.float32)
    (quick,) = format_rows(row, decimal_numbers)
    (plain,) = format_rows(row, None)
    assert quick == plain
    back = reference.decimals(quick.split())
    assert back is not None
    assert back.tobytes() == row.tobytes()


def test_any_bits_are_written_the_same_way_both_ways():
    rows = np.random.default_rng(2).integers(0, 1 << 32, (3000, 5), np.uint32).view(np.float32)
    rows = rows[np.isfinite(rows).all(axis=1)]
    quick = format_rows(rows, decimal_numbers)
    assert quick == format_rows(rows, None)
    back = reference.decimals(b"".join(quick).split())
    assert back is not None
    assert back.tobytes() == rows.tobytes()


def test_few_digits_where_few_are_enough():
    values = np.array([0.418, -0.00066023, 1, 0.1, 1 / 3, 2e-9], np.float32)
    assert format_rows(values[None], decimal_numbers) == [b" 0.418 -0.00066023 1 0.1 0.33333334 2e-09"]
