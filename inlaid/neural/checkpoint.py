"""Checkpoint: a folder <-> Model, by the family it belongs to."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save as safetensors_bytes
from torch import Tensor

from inlaid import files
from inlaid.errors import SourceError
from inlaid.formats import huggingface
from inlaid.formats.cards import read_card
from inlaid.neural.families import family_for, family_of
from inlaid.neural.model import Model
from inlaid.neural.tokens import check_tokenizer, tokenizer_files
from inlaid.neural.weights import fill_network
from inlaid.report import silent
from inlaid.vectors import Card

CARD = "card.json"


def load_model(
    path: str | Path, *, tied: bool | None = None, dtype: torch.dtype | None = None, device: str = "cpu"
) -> Model:
    """Load the model in a folder of any registered family, in evaluation mode.

    `tied` decides whether the output layer is tied where config.json and the weights contradict each other.
    `dtype` converts the weights; None keeps the dtype of the file.
    """
    path = Path(path)
    if not path.is_dir():
        raise SourceError(
            "There is no folder '{path}'. A checkpoint is a folder with config.json and its weights.",
            path=path,
        )
    family = family_of(path)
    loaded = family.load(path, tied=tied)
    tensors = {name: _as_tensor(tensor) for name, tensor in loaded.tensors.items()}
    network = fill_network(loaded.config, tensors, path)
    tokenizer = family.read_tokenizer(path, loaded.config)
    if tokenizer is not None:
        check_tokenizer(tokenizer, path, loaded.config)
    network.to(device=device, dtype=dtype).eval()
    return Model(network, tokenizer, _card(path, loaded.notes))


def save_model(model: Model, path: str | Path) -> None:
    """Write a folder that `transformers` opens, or one that only Inlaid opens if no family has such a
    model."""
    config = model.config
    family = family_for(config)
    tensors = {name: tensor.detach().cpu() for name, tensor in model.network.state_dict().items()}
    tensors = family.tensors_to_write(config, tensors)
    settings = family.write(config)
    dtypes = {str(tensor.dtype).removeprefix("torch.") for tensor in tensors.values()}
    if len(dtypes) == 1:
        settings["dtype"] = dtypes.pop()
    weights = safetensors_bytes(tensors, metadata={"format": "pt"})
    with files.writing_folder(Path(path)) as folder:
        files.write_text(folder / huggingface.CONFIG, _as_json(settings))
        files.write_bytes(folder / huggingface.WEIGHTS, weights)
        files.write_text(folder / CARD, _as_json(dataclasses.asdict(model.card)))
        for name, content in tokenizer_files(model.tokenizer, config).items():
            files.write_bytes(folder / name, content)


def _card(path: Path, notes: Iterable[str]) -> Card:
    card = Card(method="checkpoint", settings={"folder": path.name})
    if (path / CARD).is_file():
        card = read_card(path / CARD, (path / CARD).read_bytes(), silent)
    return dataclasses.replace(card, notes=(*card.notes, *(note for note in notes if note not in card.notes)))


def _as_tensor(values: Tensor | np.ndarray) -> Tensor:
    return torch.from_numpy(values) if isinstance(values, np.ndarray) else values


def _as_json(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False)
