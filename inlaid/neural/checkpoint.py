"""Checkpoint: Hugging Face folder <-> Model; ELMo's own files -> Model."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save as safetensors_bytes
from torch import Tensor, nn

from inlaid import files
from inlaid.config import settings_of
from inlaid.errors import FormatError, SourceError
from inlaid.formats import elmo, huggingface
from inlaid.neural.architecture import Architecture
from inlaid.neural.families import OWN, read_config, read_elmo, write_config
from inlaid.neural.model import Model
from inlaid.neural.names import Place, names_of
from inlaid.neural.network import Network, make_network
from inlaid.neural.tables import Source, decide_tie, source_of, with_sides
from inlaid.neural.tokens import read_tokenizer, tokenizer_files
from inlaid.neural.weights import check_finite, read_tensors, unused, write_tensors
from inlaid.vectors import Card

CARD = "card.json"


def load_model(
    path: str | Path, *, tied: bool | None = None, dtype: torch.dtype | None = None, device: str = "cpu"
) -> Model:
    """The model in a folder: BERT, GPT-2, Llama, T5, Marian, ELMo, or one of Inlaid's own.

    `tied` settles what config.json and the weights disagree about; `dtype` converts, otherwise numbers stay
    as they lie in the file. Ready to use: dropout is off.
    """
    path = Path(path)
    if not path.is_dir():
        raise SourceError(
            f"There is no folder '{path}'. A checkpoint is a folder with config.json and its weights."
        )
    made = _read_elmo(path) if elmo.recognizes(path) else _read_folder(path, tied)
    made.network.to(device=device, dtype=dtype).eval()
    return made


def save_model(model: Model, path: str | Path) -> None:
    """Write a folder that `transformers` opens, or one only Inlaid opens where no other tool has such a
    model."""
    shape = model.shape
    tensors = {name: tensor.detach().cpu() for name, tensor in model.network.state_dict().items()}
    config = write_config(shape)
    if config["model_type"] != OWN:
        names = names_of(config["model_type"], gated=shape.gated, separate=bool(shape.target_words))
        tensors = write_tensors(names, tensors, bare=shape.head == "none", tied=shape.tied)
    kinds = {str(tensor.dtype).removeprefix("torch.") for tensor in tensors.values()}
    with files.writing_folder(Path(path)) as folder:
        config |= {"dtype": kinds.pop()} if len(kinds) == 1 else {}
        files.write_text(folder / huggingface.CONFIG, json.dumps(config, indent=2, ensure_ascii=False))
        files.write_bytes(folder / huggingface.WEIGHTS, safetensors_bytes(tensors, metadata={"format": "pt"}))
        files.write_text(
            folder / CARD, json.dumps(dataclasses.asdict(model.card), indent=2, ensure_ascii=False)
        )
        for name, content in tokenizer_files(model.tokenizer, shape).items():
            files.write_bytes(folder / name, content)


def _read_folder(path: Path, tied: bool | None) -> Model:
    folder = huggingface.open_folder(path)
    shape = read_config(folder.config)
    notes = list[str]()
    if folder.config["model_type"] == OWN:
        network = _filled(shape, {name: folder.read(name) for name in folder.tensors}, path)
    else:
        shape = with_sides(shape, folder.config["model_type"], folder)
        names = names_of(folder.config["model_type"], gated=shape.gated, separate=bool(shape.target_words))
        source = source_of(folder, names)
        shape = dataclasses.replace(
            shape, tied=decide_tie(shape, names, source, tied), pooler=_has_pooler(shape, source)
        )
        wanted = {name: tensor.shape for name, tensor in _empty(shape).state_dict().items()}
        network = _filled(shape, read_tensors(source, names, wanted, tied=shape.tied), path)
        notes += [f"not used: {name}" for name in unused(source, names, wanted)]
    return Model(network, read_tokenizer(path, shape), _card(path, notes))


def _has_pooler(shape: Architecture, source: Source) -> bool:
    """BERT's config cannot say whether a folder has a pooler; its tensors do."""
    return shape.head == "none" and "bert.pooler.dense.weight" in source.files


def _card(path: Path, notes: list[str]) -> Card:
    try:
        card = settings_of(Card, json.loads((path / CARD).read_text("utf-8")))
    except FileNotFoundError:
        card = Card(method="checkpoint", settings={"folder": path.name})
    except ValueError as error:
        raise FormatError(f"{path / CARD}: not JSON ({error}).") from None
    return dataclasses.replace(card, notes=(*card.notes, *(note for note in notes if note not in card.notes)))


def _empty(shape: Architecture) -> Network:
    """The network without memory for its weights: names and shapes only."""
    with torch.device("meta"):
        return make_network(shape)


def _filled(shape: Architecture, tensors: Mapping[str, Tensor], path: Path) -> Network:
    """The network with these weights, none of them initialised first."""
    network = _empty(shape)
    wanted = {name: tensor.shape for name, tensor in network.state_dict().items()}
    found = {name: tensor.shape for name, tensor in tensors.items()}
    if wanted != found:
        wrong = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
        raise FormatError(
            f"{path}: {wrong[0]} is {found.get(wrong[0], 'missing')}; the architecture asks for {wanted.get(wrong[0], 'none')}."
        )
    for name, tensor in tensors.items():
        check_finite(path, name, tensor)
    network.load_state_dict(dict(tensors), assign=True)
    return network


def _read_elmo(path: Path) -> Model:
    options = elmo.read_options(path)
    arrays = elmo.read_weights(path)
    shape = read_elmo(options)
    weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
    places = {ours: _elmo_place(ours) for ours in _empty(shape).state_dict()}
    missing = sorted({place.name for place in places.values()} - weights.keys())
    extra = sorted(weights.keys() - {place.name for place in places.values()})
    if missing or extra:
        raise FormatError(
            f"{path}: expected {missing or 'nothing'} more, and found {extra or 'nothing'} without a place."
        )
    tensors = {ours: _elmo_tensor(ours, weights[place.name], place, shape) for ours, place in places.items()}
    return Model(_filled(shape, tensors, path), None, _card(path, []))


def _elmo_place(ours: str) -> Place:
    """`ahead.1.input.weight` lies in `RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/W_0`, and so on."""
    part, leaf = ours.rsplit(".", 1)
    letter = {"weight": "W", "bias": "b"}[leaf]
    words = part.split(".")
    if words[0] in ("ahead", "back"):
        cell = f"RNN_{('ahead', 'back').index(words[0])}/RNN/MultiRNNCell/Cell{words[1]}/LSTMCell"
        named = "W_P_0" if words[2] == "project" else "B" if leaf == "bias" else "W_0"
        return Place(f"{cell}/{named}", turned=leaf == "weight")
    if words[1] == "table":
        return Place("char_embed")
    if words[1] == "convolutions":
        return Place(f"CNN/{letter}_cnn_{words[2]}")
    if words[1] == "highways":
        return Place(
            f"CNN_high_{words[2]}/{letter}_{'carry' if words[3] == 'gate' else 'transform'}",
            turned=leaf == "weight",
        )
    return Place(f"CNN_proj/{letter}_proj", turned=leaf == "weight")


def _elmo_tensor(ours: str, tensor: Tensor, place: Place, shape: Architecture) -> Tensor:
    tensor = tensor.T.contiguous() if place.turned else tensor
    if place.name == "char_embed":
        return nn.functional.pad(
            tensor, (0, 0, 1, 0)
        )  # their file leaves out the row of zeros that stands for no word
    if tensor.dim() == 4:
        return tensor[0].permute(2, 1, 0).contiguous()  # (1, width, in, out) -> (out, in, width)
    if place.name.endswith("/W_0"):  # input and output of the cells, stacked
        return tensor[:, : shape.dim] if ".input." in ours else tensor[:, shape.dim :]
    return tensor
