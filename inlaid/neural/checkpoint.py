"""Checkpoint: a folder <-> Model, by the family it belongs to."""

from __future__ import annotations

import dataclasses
import json
import os
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save as safetensors_bytes
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from inlaid import files
from inlaid.errors import SettingError, SourceError
from inlaid.formats import huggingface
from inlaid.formats.cards import read_card
from inlaid.messages import Listed, Message
from inlaid.neural.config import Config
from inlaid.neural.families import family_for, family_of
from inlaid.neural.families.family import Family
from inlaid.neural.families.tokenizer_settings import apply_settings, read_settings
from inlaid.neural.generation import FILE as GENERATION
from inlaid.neural.generation import FileSettings, read_generation
from inlaid.neural.model import Model
from inlaid.neural.network import Network, parameter_shapes
from inlaid.neural.sentence import Sentence
from inlaid.neural.sentence_files import network_folder, read_sentence
from inlaid.neural.sentence_write import sentence_files
from inlaid.neural.tokenizer_pair import read_tokenizer
from inlaid.neural.tokens import check_tokenizer, lower_cased, tokenizer_files
from inlaid.neural.weights import FLOATS, check_finite, fill_network
from inlaid.report import silent
from inlaid.vectors import Card

CARD = "card.json"
MODEL_TYPE = "model_type"
"""On the card: the family a model was loaded from, which it is saved in again."""


def load_model(
    path: str | Path, *, tied: bool | None = None, dtype: torch.dtype | None = None, device: str = "cpu"
) -> Model:
    """Load the model in a folder of any registered family, in evaluation mode.

    `tied` decides whether the output layer is tied where config.json and the weights contradict each other.
    `dtype` converts the weights; None keeps the dtype of the file.
    """
    path = _path(path)
    _check_target(device, dtype)
    if path.is_file():
        raise SourceError(
            "'{path}' is a file. A checkpoint is a folder with config.json and its weights: give the folder.",
            path=path,
        )
    if not path.is_dir():
        raise SourceError(
            "There is no folder '{path}'. A checkpoint is a folder with config.json and its weights.",
            path=path,
        )
    folder = path
    path = network_folder(folder)
    family = family_of(path)
    loaded = family.load(path, tied=tied)
    tensors = {name: _as_tensor(tensor) for name, tensor in loaded.tensors.items()}
    network = fill_network(loaded.config, tensors, path)
    tokenizer = read_tokenizer(path, family, loaded.config)
    settings = {} if tokenizer is None else read_settings(path)
    changed = apply_settings(tokenizer, settings, family, loaded.config.vocab_size)
    if tokenizer is not None:
        check_tokenizer(tokenizer, path, loaded.config)
    notes = [*loaded.notes, *changed, *_dtype_notes(tensors.values(), next(network.parameters()).dtype)]
    network.to(device=device, dtype=dtype).eval()
    has_limit = "positions.max_length" in family.keys
    max_length = loaded.config.positions.max_length if has_limit else None
    sentence = read_sentence(folder, loaded.config.dim, max_length)
    if sentence is not None and sentence.lower and tokenizer is not None:
        tokenizer = lower_cased(tokenizer)
    generation = _generation(family, path, loaded.config)
    if generation is not None:
        notes += generation.notes()
    card = _card(folder, family.model_type, notes, sentence)
    return Model(network, tokenizer, card, sentence, generation, settings)


def save_model(model: Model, path: str | Path) -> None:
    """Write a folder that `transformers` opens, or one that only Inlaid opens if no family has such a
    model."""
    if not isinstance(model, Model):
        raise SettingError(
            "save_model takes a Model; found {kind}. Make one of a network with Model(network).",
            kind=type(model).__name__,
        )
    path = _path(path)
    config = model.config
    family = family_for(config, preferred=model.card.settings.get(MODEL_TYPE))
    state = state_of(model.network)
    for name, tensor in state.items():
        check_finite(path, name, tensor)
    tensors = family.tensors_to_write(config, state)
    settings = family.write(config)
    dtypes = {str(tensor.dtype).removeprefix("torch.") for tensor in tensors.values()}
    if len(dtypes) == 1:
        settings["dtype"] = dtypes.pop()
    weights = safetensors_bytes(tensors, metadata={"format": "pt"})
    with files.writing_folder(path) as folder:
        files.write_text(folder / huggingface.CONFIG, _as_json(settings))
        files.write_bytes(folder / huggingface.WEIGHTS, weights)
        if model.generation is not None and model.generation.file:
            files.write_text(folder / GENERATION, _as_json(model.generation.to_write(config)))
        files.write_text(folder / CARD, _as_json(dataclasses.asdict(model.card)))
        more = tokenizer_files(model.tokenizer, config, model.tokenizer_settings)
        if model.sentence is not None:
            more |= sentence_files(model.sentence, config.dim)
        for name, content in more.items():
            files.make_folder((folder / name).parent)
            files.write_bytes(folder / name, content)


def _generation(family: Family, path: Path, config: Config) -> FileSettings | None:
    if config.kind not in ("decoder", "seq2seq") or not family.has_config_json:
        return None
    raw = {**family.generation, **huggingface.read_config(path)}
    return read_generation(path, raw, config)


def state_of(network: Network) -> dict[str, Tensor]:
    """The weights of a network by name, on the CPU; those that torch computes from others (weight norm, LoRA
    and other parametrizations) as they are now. A name that its config has no place for is an error."""
    state = dict(network.state_dict())
    for prefix, module in network.named_modules():
        if is_parametrized(module):
            for name in typing.cast("nn.ModuleDict", module.parametrizations):
                state[f"{prefix}.{name}".removeprefix(".")] = getattr(module, name)
    state = {name: tensor for name, tensor in state.items() if ".parametrizations." not in f".{name}"}
    expected = parameter_shapes(network.config)
    found = {name: tensor.shape for name, tensor in state.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise SettingError(
                "The network has been changed: {name} is {found}, and its config asks for {expected}. "
                "Undo the change before saving, or change the config too.",
                name=name,
                found=_shape(found.get(name)),
                expected=_shape(expected.get(name)),
            )
    if any(tensor.is_meta for tensor in state.values()):
        raise SettingError("The network is on the meta device and has no weights to save.")
    # a copy of each: what shares memory with another is written twice
    return {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in state.items()}


def _path(path: Any) -> Path:
    """A path that the file system can take."""
    if not isinstance(path, (str, Path)):
        raise SettingError("Expected the path of a folder; found {kind}.", kind=type(path).__name__)
    try:
        usable = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise SettingError("The path {path!r} cannot be the name of a folder.", path=str(path))
    return Path(path)


def _check_target(device: Any, dtype: Any) -> None:
    """Raise SettingError for a device that is not there, and for a dtype that no network computes in."""
    if dtype is not None and dtype not in FLOATS:
        raise SettingError(
            "dtype is {found}; expected one of {known}.", found=dtype, known=Listed(map(str, FLOATS))
        )
    try:
        torch.zeros((), device=device).item()  # the meta device has no numbers
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        raise SettingError(
            "No network can be put on the device {device!r}: {reason}",
            device=device,
            reason=str(error).partition("\n")[0],
        ) from None


def _shape(shape: torch.Size | None) -> str:
    return "none" if shape is None else str(tuple(shape))


def _dtype_notes(tensors: Iterable[Tensor], used: torch.dtype) -> Iterator[str]:
    """Layers of different dtypes do not work together."""
    found = sorted({str(tensor.dtype).removeprefix("torch.") for tensor in tensors})
    if len(found) > 1:
        yield str(
            Message(
                "weights of {found} are used as {used}",
                found=Listed(found),
                used=str(used).removeprefix("torch."),
            )
        )


def _card(path: Path, model_type: str, notes: Iterable[str], sentence: Sentence | None) -> Card:
    card = Card(method="checkpoint", settings={"folder": path.name, MODEL_TYPE: model_type})
    if (path / CARD).is_file():
        card = read_card(path / CARD, (path / CARD).read_bytes(), silent)
    if sentence is not None:
        card = dataclasses.replace(card, settings={**card.settings, "embed": sentence.settings()})
    return dataclasses.replace(card, notes=(*card.notes, *(note for note in notes if note not in card.notes)))


def _as_tensor(values: Tensor | np.ndarray) -> Tensor:
    return torch.from_numpy(values) if isinstance(values, np.ndarray) else values


def _as_json(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False)
