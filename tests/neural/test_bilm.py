"""BiLM: equal to ELMo's own fixture up to rounding; directions, padding and states."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from inlaid.errors import FormatError, SettingError
from inlaid.neural.bilm import BiLM, character_ids
from inlaid.neural.checkpoint import load_model, save_model
from inlaid.neural.config import make_config
from inlaid.neural.families.elmo import ELMO

CONFIG = make_config(
    {
        "kind": "bilm",
        "vocab_size": 30,
        "dim": 6,
        "layers": 2,
        "lstm.cell_dim": 10,
        "positions.kind": "none",
        "characters.activation": "relu",
        "characters.vocab_size": 262,
        "characters.dim": 4,
        "characters.max_length": 12,
        "characters.filter_widths": (1, 3),
        "characters.filter_counts": (4, 8),
        "characters.highways": 2,
        "lstm.cell_clip": 3.0,
        "lstm.projection_clip": 3.0,
    }
)


@pytest.fixture
def fixture(data: Path) -> Path:
    pytest.importorskip("h5py", reason="h5py is not installed: pip install 'inlaid[elmo]'")
    return data / "pretrained_elmo_fixture"


@torch.no_grad()
def test_a_document_gets_the_vectors_of_elmo(fixture: Path):
    import h5py

    network = load_model(fixture).network
    assert isinstance(network, BiLM)
    sentences = json.loads((fixture / "sentences.json").read_text())[0]
    states = ()
    with h5py.File(fixture / "lm_embeddings_0.hdf5") as file:
        for number, sentence in enumerate(sentences):
            # ELMo's state continues from sentence to sentence
            read = network(*character_ids([sentence.split()]), states=states)
            states = read.states
            expected = np.concatenate(list(file[str(number)][...]), -1)  # pyright: ignore
            assert np.abs(read.layers[2][0, 1:-1].numpy() - expected).max() < 2e-6


@torch.no_grad()
def test_word_vectors_are_those_of_elmo(fixture: Path):
    import h5py

    network = load_model(fixture).network
    assert isinstance(network, BiLM)
    words = (fixture / "vocab_test.txt").read_text().splitlines()
    with h5py.File(fixture / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][...]  # pyright: ignore
    read = network(character_ids([words])[0])
    assert np.abs(read.layers[0][0, 1:-1, :16].numpy() - expected).max() < 2e-6
    assert torch.equal(read.layers[0][..., :16], read.layers[0][..., 16:])


def test_a_loaded_elmo_is_saved_and_read_again(fixture: Path, tmp_path: Path):
    model = load_model(fixture)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.config == model.config
    weights = again.network.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.network.state_dict().items())


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


@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 3), (2, 2), (0, 1, 2, 3), (2, 1, 2, 3)], ids=str)
def test_elmo_arrays_of_other_shapes_are_named(shape: tuple[int, ...], fixture: Path, tmp_path: Path):
    import h5py

    (tmp_path / "options.json").write_bytes((fixture / "options.json").read_bytes())
    whole = (fixture / "lm_weights.hdf5").read_bytes()
    names = list[str]()
    with h5py.File(fixture / "lm_weights.hdf5") as file:
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    assert len(names) > 10
    for name in names:
        (tmp_path / "lm_weights.hdf5").write_bytes(whole)
        with h5py.File(tmp_path / "lm_weights.hdf5", "a") as file:
            del file[name]
            file[name] = np.zeros(shape, np.float32)
        with pytest.raises(FormatError, match="shape"):
            load_model(tmp_path)


def test_hundreds_of_layers_that_the_weights_lack_are_not_built(fixture: Path, tmp_path: Path):
    (tmp_path / "lm_weights.hdf5").write_bytes((fixture / "lm_weights.hdf5").read_bytes())
    options = json.loads((fixture / "options.json").read_text())
    for part, name in (("lstm", "n_layers"), ("char_cnn", "n_highway")):
        changed = {**options, part: {**options[part], name: 499}}
        (tmp_path / "options.json").write_text(json.dumps(changed))
        with pytest.raises(FormatError, match="the config asks for [0-9,]+ layers"):
            load_model(tmp_path)


def test_character_ids():
    ids, mask = character_ids([["猫"], ["a", "cat"]], 6)
    assert ids.shape == (2, 4, 6)
    assert mask.tolist() == [[True, True, True, False], [True] * 4]
    # word start, sentence start, word end, padding
    assert ids[0, 0].tolist() == [259, 257, 260, 261, 261, 261]
    assert ids[0, 1].tolist() == [259, *(byte + 1 for byte in "猫".encode()), 260, 261]
    assert not ids[0, 3].any()
    assert torch.equal(ids[0, 2], character_ids([["</S>"]], 6)[0][0, 1])


@torch.no_grad()
def test_each_direction_sees_its_side_only():
    network = BiLM(CONFIG)
    one = network(character_ids([["a", "b", "c"]], 12)[0])
    two = network(character_ids([["a", "b", "x"]], 12)[0])
    for layer in (1, 2):
        forward, backward = one.layers[layer].chunk(2, -1)
        other_forward, other_backward = two.layers[layer].chunk(2, -1)
        torch.testing.assert_close(forward[:, :3], other_forward[:, :3])
        assert not torch.allclose(backward[:, 0], other_backward[:, 0])
    assert one.forward_logits is not None
    assert one.forward_logits.shape == (1, 5, 30)


@torch.no_grad()
def test_padding_and_splitting_a_text_change_nothing():
    network = BiLM(CONFIG.replace({"characters.vocab_size": 0, "head.kind": "none"})).double()
    ids = torch.randint(0, 30, (1, 6))
    alone = network(ids)
    mask = torch.tensor([[1] * 6 + [0] * 2])
    padded = network(torch.cat([ids, torch.zeros(1, 2, dtype=torch.int64)], 1), mask)
    torch.testing.assert_close(padded.layers[2][:, :6], alone.layers[2])
    first = network(ids[:, :3])
    second = network(ids[:, 3:], states=first.states)
    # the forward half continues
    torch.testing.assert_close(second.layers[2][..., :6], alone.layers[2][:, 3:, :6])


@torch.no_grad()
def test_cells_and_outputs_are_clipped():
    network = BiLM(CONFIG.replace({"lstm.cell_clip": 0.1, "lstm.projection_clip": 0.05}))
    for parameter in network.parameters():
        parameter.data.mul_(20)
    read = network(character_ids([["cat", "猫"]], 12)[0])
    assert read.layers[1].abs().max() == pytest.approx(0.05)
    assert max(state.cells.abs().max() for state in read.states) == pytest.approx(0.1)


def test_saved_in_a_folder_of_our_own(tmp_path: Path):
    from inlaid.neural.model import Model

    network = BiLM(CONFIG)
    save_model(Model(network), tmp_path / "bilm")
    again = load_model(tmp_path / "bilm")
    assert again.config == CONFIG
    ids = character_ids([["cat"]], 12)[0]
    before = network.state_dict()
    assert all(torch.equal(tensor, before[name]) for name, tensor in again.network.state_dict().items())
    # not to the bit: products of tensors with another memory layout may round differently
    torch.testing.assert_close(again.network(ids).layers[2], network(ids).layers[2])  # pyright: ignore


def test_a_model_over_characters_refuses_texts():
    from inlaid.neural.model import Model

    with pytest.raises(SettingError, match=r"character_ids\(sentences\)"):
        Model(BiLM(CONFIG)).embed(["cat"])
    with pytest.raises(SettingError, match="no table"):
        Model(BiLM(CONFIG)).input_vectors()


def test_wrong_ids_are_named():
    with pytest.raises(SettingError, match=r"12 characters\); found \(1, 3, 5\)"):
        BiLM(CONFIG)(torch.ones(1, 3, 5, dtype=torch.int64))


@pytest.mark.parametrize(("name", "value"), [("cell_clip", 1e308), ("proj_clip", -1)])
def test_options_out_of_range_are_named(name: str, value: float):
    lstm = {"use_skip_connections": True, "n_layers": 1, "projection_dim": 4, "dim": 6}
    lstm |= {"cell_clip": 3, "proj_clip": 3, name: value}
    cnn = {"embedding": {"dim": 2}, "filters": [[1, 2]], "n_highway": 1, "n_characters": 262}
    cnn |= {"max_characters_per_token": 50, "activation": "relu"}
    with pytest.raises(SettingError, match="expected from"):
        ELMO.read({"lstm": lstm, "char_cnn": cnn})


@pytest.mark.parametrize(
    ("sentences", "length", "said"),
    [
        (["abc"], 50, "found 'abc'"),
        ("abc", 50, "found 'abc'"),
        ([["a\ud800"]], 50, "half of a character"),
        ([["a"]], 2, "max_length is 2"),
    ],
)
def test_what_is_no_list_of_words_is_refused(sentences: list[list[str]], length: int, said: str):
    with pytest.raises(SettingError, match=said):
        character_ids(sentences, length)
