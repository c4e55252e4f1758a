"""Pictures: their numbers are right, and a user gets them as text, JSON, PNG, SVG and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid import registry
from inlaid.cli import main
from inlaid.errors import SettingError, UnknownName

NAMES = [entry.name for entry in registry.entries("picture")]


def values(name: str, **settings: Any) -> dict[str, Any]:
    return inlaid.draw(name, **settings).numbers.values


# --- the numbers


@pytest.mark.parametrize("matrix", [(2.0, 1.0, 0.5, 1.5), (0.0, 1.0, 1.0, 0.0), (1.0, 2.0, 2.0, 4.0)])
def test_areas_grow_by_the_determinant(matrix: tuple[float, ...]):
    found = values("matrix", matrix=matrix)
    determinant = matrix[0] * matrix[3] - matrix[1] * matrix[2]
    assert found["determinant"] == pytest.approx(determinant, abs=1e-12)
    assert found["area_after"] == pytest.approx(abs(determinant) * found["area_before"], abs=1e-12)
    assert found["rank"] == (1 if determinant == 0 else 2)
    assert np.allclose(found["lost_direction_after_rank_1"], 0)


def test_a_matrix_that_turns_the_plane_over_says_so():
    assert any("turned over" in each for each in inlaid.draw("matrix", matrix=(0.0, 1.0, 1.0, 0.0)).sentences)
    assert not any("turned over" in each for each in inlaid.draw("matrix").sentences)


def test_one_hot_vectors_are_equidistant_and_orthogonal():
    found = values("onehot", words=("a", "b", "c", "d"))
    assert found["smallest_distance"] == found["largest_distance"] == pytest.approx(np.sqrt(2))
    assert (found["products"] == np.eye(4)).all()
    assert found["distances_of_ids"].max() == 3


def test_sums_of_ids_collide_and_sums_of_onehot_do_not():
    found = values("ids", words=5)
    assert found["sets"] == 31
    assert found["sums_of_ids"] == 15
    assert found["sums_of_onehot"] == 31


def test_variances_of_dot_products():
    found = values("dot-products", dims=(16, 256), queries=2000)
    assert found["variance"] == pytest.approx([16, 256], rel=0.1)
    assert found["variance_scaled"] == pytest.approx([1, 1], rel=0.1)
    assert found["largest_weight"][1] > 0.9
    assert found["largest_weight_scaled"][1] < 0.4
    assert found["gradient"][1] < found["gradient_scaled"][1] / 4


def test_rotary_is_that_of_the_networks():
    torch = pytest.importorskip("torch")
    from inlaid.neural.rotary import Rotary

    found = values("rotary", dim=8, base=500.0, length=20)
    layer = Rotary(8, base=500.0, max_length=20, layout="interleaved")
    positions = torch.arange(20)[None]
    query, key = (
        layer.rotate(torch.tensor(found[name]).float().expand(1, 1, 20, 8), layer.rotation(positions))[0, 0]
        for name in ("query", "key")
    )
    assert np.allclose(found["scores"], (query @ key.T).numpy(), atol=1e-4)
    assert found["spread_at_one_distance"] < 1e-12
    assert found["norm_before"] == pytest.approx(found["norm_after"])


def test_sinusoids_are_those_of_the_networks():
    torch = pytest.importorskip("torch")
    from inlaid.neural.positions import sinusoids

    found = values("sinusoidal", dim=32, length=50)
    assert np.allclose(found["table"], sinusoids(torch.arange(50), 32, "halves").numpy(), atol=1e-6)
    assert found["largest"] == pytest.approx(16)
    assert found["spread_at_one_distance"] < 1e-12


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_heads_add_up_to_the_output(heads: int):
    found = values("heads", dim=8, heads=heads)
    assert found["largest_difference"] < 1e-12
    assert found["added_by_head"].shape == (heads, 4, 8)
    assert np.allclose(found["concatenated"] @ found["w_o"], found["added_by_head"].sum(axis=0))
    assert np.allclose(found["weights"].sum(axis=2), 1)


def test_a_wide_layer_separates_what_a_line_does_not():
    found = values("feed-forward", widths=(2, 64), repeats=5)
    assert found["linear_accuracy"] < 0.65
    assert found["accuracy"][0] < 0.85
    assert found["lowest"][1] > 0.95
    linear = values("feed-forward", widths=(64,), repeats=3, activation=False)
    assert linear["highest"][0] < 0.65, "without an activation width does not help"


def test_layer_norm_is_that_of_torch_and_leaves_other_tokens_alone():
    torch = pytest.importorskip("torch")
    found = values("layer-norm", dim=6)
    x = torch.tensor(found["x"])
    assert np.allclose(torch.nn.functional.layer_norm(x, (6,), eps=0.0).numpy(), found["layer_norm"])
    assert (found["change_by_layer_norm"] == 0).all()
    assert found["change_over_the_sentence"].max() > 0.5


# --- what a user types


def test_draw_alone_lists_the_pictures(capsys: pytest.CaptureFixture[str]):
    assert main(["draw"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_picture_in_both_languages(
    name: str, language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip("matplotlib")
    path = tmp_path / "picture.png"
    assert main(["draw", name, "-o", str(path), "--lang", language]) == 0
    shown = capsys.readouterr().out
    chinese = any("\u4e00" <= each <= "\u9fff" for each in shown)
    assert chinese == (language == "zh")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_numbers_as_json_need_no_matplotlib(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    for name in NAMES:
        assert main(["draw", name, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["picture"] == name
        assert found["numbers"]
        assert found["settings"].keys() == {
            field for field in found["settings"] if hasattr(registry.find("picture", name)(), field)
        }


def test_svg_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("matplotlib")
    svg = tmp_path / "heads.svg"
    page = tmp_path / "heads.html"
    for path in (svg, page, svg):  # the second time it replaces its own
        assert main(["draw", "heads", "--heads", "4", "-o", str(path), "--lang", "zh"]) == 0
    assert b"<svg" in svg.read_bytes()
    shown = page.read_text("utf-8")
    assert "多头注意力" in shown
    assert "inlaid draw heads --heads 4 --lang zh" in shown
    assert "data:image/png" in shown
    svg.write_bytes(svg.read_bytes().replace(b"<svg", b"<svg id='mine'", 1))
    capsys.readouterr()
    assert main(["draw", "heads", "-o", str(svg)]) == 2
    assert "nothing in it shows that Inlaid wrote it" in capsys.readouterr().err


def test_python_gets_a_figure():
    pytest.importorskip("matplotlib")
    figure = inlaid.draw("rotary", dim=4, lang="zh").figure()
    assert len(figure.axes) == 3


def test_negative_numbers_are_typed(capsys: pytest.CaptureFixture[str]):
    assert main(["draw", "matrix", "--matrix", "-1", "0", "0", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["numbers"]["determinant"] == -1


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["rotery"], "No picture is called 'rotery'. Did you mean 'rotary'?"),
        (["rotary", "--dim", "7"], "Use an even dim"),
        (["heads", "--dim", "8", "--heads", "3"], "which 3 heads do not divide"),
        (["matrix", "--matrix", "1", "2"], "matrix has 2 numbers; expected 4"),
        (["matrix", "--matrix", "nan", "0", "0", "1"], "matrix"),
        (["onehot", "--words", "one"], "expected from 2 to 12"),
        (["rotary", "--base", "0"], "base is 0.0; expected from 1.01"),
        (["rotary", "--lang", "fr"], "--lang"),
        (
            ["rotary", "-o", "picture.gif"],
            "A picture is written as .png, .svg or .html; found 'picture.gif'.",
        ),
    ],
)
def test_bad_input(words: list[str], error: str, capsys: pytest.CaptureFixture[str]):
    assert main(["draw", *words]) == 2
    assert error in capsys.readouterr().err


def test_bad_input_from_python():
    with pytest.raises(UnknownName):
        inlaid.draw("nothing")
    with pytest.raises(UnknownName):
        inlaid.draw("rotary", dims=3)
    with pytest.raises(SettingError):
        inlaid.draw("feed-forward", widths=())
    with pytest.raises(SettingError):
        inlaid.draw("dot-products", dims=())


@pytest.mark.parametrize(("locale", "title"), [("zh_CN.UTF-8", "旋转位置"), ("C", "Rotary positions")])
def test_the_language_is_that_of_the_locale(
    locale: str, title: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LC_ALL", locale)
    assert main(["draw", "rotary"]) == 0
    assert capsys.readouterr().out.startswith(title)
