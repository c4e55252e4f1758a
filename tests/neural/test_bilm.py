"""BiLM: ELMo's own fixture to rounding; directions, padding and memory do what they say."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from inlaid.errors import FormatError, SettingError
from inlaid.neural.architecture import Architecture
from inlaid.neural.bilm import BiLM, spell
from inlaid.neural.checkpoint import load_model, save_model

SHAPE = Architecture(
    kind="bilm",
    words=30,
    dim=6,
    layers=2,
    inner=10,
    heads=1,
    positions="none",
    activation="relu",
    characters=262,
    character_dim=4,
    token_length=12,
    filter_widths=(1, 3),
    filter_counts=(4, 8),
    highways=2,
    cell_clip=3.0,
    projection_clip=3.0,
)


@pytest.fixture
def fixture(data: Path) -> Path:
    pytest.importorskip("h5py", reason="h5py is not installed: pip install 'inlaid[elmo]'")
    return data / "pretrained_elmo_fixture"


@torch.no_grad()
def test_reads_a_document_as_elmo_did(fixture: Path):
    import h5py

    network = load_model(fixture).network
    assert isinstance(network, BiLM)
    sentences = json.loads((fixture / "sentences.json").read_text())[0]
    states = ()
    with h5py.File(fixture / "lm_embeddings_0.hdf5") as file:
        for number, sentence in enumerate(sentences):
            read = network(
                *spell([sentence.split()]), states=states
            )  # ELMo carries its memory from sentence to sentence
            states = read.states
            expected = np.concatenate(list(file[str(number)][...]), -1)  # pyright: ignore
            assert np.abs(read.layers[2][0, 1:-1].numpy() - expected).max() < 2e-6


@torch.no_grad()
def test_spells_words_as_elmo_did(fixture: Path):
    import h5py

    network = load_model(fixture).network
    assert isinstance(network, BiLM)
    words = (fixture / "vocab_test.txt").read_text().splitlines()
    with h5py.File(fixture / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][...]  # pyright: ignore
    read = network(spell([words])[0])
    assert np.abs(read.layers[0][0, 1:-1, :16].numpy() - expected).max() < 2e-6
    assert torch.equal(read.layers[0][..., :16], read.layers[0][..., 16:])


def test_damaged_elmo_files_are_named(fixture: Path, tmp_path: Path):
    import h5py

    folder = Path(shutil.copytree(fixture, tmp_path / "elmo"))
    for each in (folder, *folder.iterdir()):
        each.chmod(0o755)
    with h5py.File(folder / "lm_weights.hdf5", "a") as file:
        file.move("CNN_proj/b_proj", "CNN_proj/other")
    with pytest.raises(FormatError, match=r"CNN_proj/b_proj.*CNN_proj/other"):
        load_model(folder)
    (folder / "lm_weights.hdf5").write_bytes(b"no hdf5")
    with pytest.raises(FormatError, match="not a readable HDF5"):
        load_model(folder)
    (folder / "options.json").write_text("{}")
    with pytest.raises(FormatError, match="expected a JSON object with ELMo's options"):
        load_model(folder)


def test_spelling():
    ids, mask = spell([["猫"], ["a", "cat"]], 6)
    assert ids.shape == (2, 4, 6)
    assert mask.tolist() == [[True, True, True, False], [True] * 4]
    assert ids[0, 0].tolist() == [
        259,
        257,
        260,
        261,
        261,
        261,
    ]  # word start, sentence start, word end, padding
    assert ids[0, 1].tolist() == [259, *(byte + 1 for byte in "猫".encode()), 260, 261]
    assert not ids[0, 3].any()
    assert torch.equal(ids[0, 2], spell([["</S>"]], 6)[0][0, 1])


@torch.no_grad()
def test_each_direction_sees_its_side_only():
    network = BiLM(SHAPE)
    one = network(spell([["a", "b", "c"]], 12)[0])
    two = network(spell([["a", "b", "x"]], 12)[0])
    for layer in (1, 2):
        ahead = one.layers[layer].chunk(2, -1)
        back = two.layers[layer].chunk(2, -1)
        torch.testing.assert_close(ahead[0][:, :3], back[0][:, :3])
        assert not torch.allclose(ahead[1][:, 0], back[1][:, 0])
    assert one.forward_logits is not None
    assert one.forward_logits.shape == (1, 5, 30)


@torch.no_grad()
def test_padding_and_cutting_a_text_in_two_change_nothing():
    network = BiLM(replace(SHAPE, characters=0, head="none")).double()
    ids = torch.randint(0, 30, (1, 6))
    alone = network(ids)
    mask = torch.tensor([[1] * 6 + [0] * 2])
    padded = network(torch.cat([ids, torch.zeros(1, 2, dtype=torch.int64)], 1), mask)
    torch.testing.assert_close(padded.layers[2][:, :6], alone.layers[2])
    first = network(ids[:, :3])
    second = network(ids[:, 3:], states=first.states)
    torch.testing.assert_close(
        second.layers[2][..., :6], alone.layers[2][:, 3:, :6]
    )  # the forward half goes on


@torch.no_grad()
def test_clipping_holds():
    network = BiLM(replace(SHAPE, cell_clip=0.1, projection_clip=0.05))
    for parameter in network.parameters():
        parameter.data.mul_(20)
    read = network(spell([["cat", "猫"]], 12)[0])
    assert read.layers[1].abs().max() == pytest.approx(0.05)
    assert max(state.cells.abs().max() for state in read.states) == pytest.approx(0.1)


def test_kept_in_a_folder_of_our_own(tmp_path: Path):
    from inlaid.neural.model import Model

    network = BiLM(SHAPE)
    save_model(Model(network), tmp_path / "bilm")
    again = load_model(tmp_path / "bilm")
    assert again.shape == SHAPE
    ids = spell([["cat"]], 12)[0]
    assert torch.equal(again.network(ids).layers[2], network(ids).layers[2])  # pyright: ignore


def test_a_model_that_spells_says_so():
    from inlaid.neural.model import Model

    with pytest.raises(SettingError, match=r"spell\(sentences\)"):
        Model(BiLM(SHAPE)).embed(["cat"])
    with pytest.raises(SettingError, match="no table"):
        Model(BiLM(SHAPE)).input_vectors()


def test_wrong_ids_are_named():
    with pytest.raises(SettingError, match=r"12 characters\); found \(1, 3, 5\)"):
        BiLM(SHAPE)(torch.ones(1, 3, 5, dtype=torch.int64))
