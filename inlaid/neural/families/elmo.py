"""ELMo: a character CNN and two LSTM language models, in files of its own (Peters et al. 2018)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from inlaid.errors import FormatError, SettingError
from inlaid.formats import elmo
from inlaid.messages import Message
from inlaid.neural.config import CharacterConfig, Config, HeadConfig, LSTMConfig, PositionConfig
from inlaid.neural.families.family import JSON, Family, Loaded
from inlaid.neural.families.names import Place
from inlaid.neural.sizes import check_parameters

DIRECTIONS = {"forward_lstms": 0, "backward_lstms": 1}
HIGHWAY = {"gate": "carry", "transform": "transform"}


class Elmo(Family):
    model_type = "elmo"
    has_config_json = False

    def recognizes(self, path: Path) -> bool:
        return elmo.recognizes(path)

    def read_folder(self, path: Path) -> Config:
        return self.read(elmo.read_options(path))

    def read(self, raw: JSON) -> Config:
        """The config that an options.json describes."""
        lstm = raw["lstm"]
        cnn = raw["char_cnn"]
        if not lstm.get("use_skip_connections", False):
            raise FormatError(
                "options.json: use_skip_connections is false; only biLMs with skip connections are supported."
            )
        try:
            return Config(
                kind="bilm",
                vocab_size=cnn["n_characters"],
                dim=lstm["projection_dim"],
                layers=lstm["n_layers"],
                positions=PositionConfig(kind="none"),
                head=HeadConfig(kind="none"),
                lstm=LSTMConfig(
                    cell_dim=lstm["dim"],
                    cell_clip=float(lstm["cell_clip"] or 0),
                    projection_clip=float(lstm["proj_clip"] or 0),
                ),
                characters=CharacterConfig(
                    vocab_size=cnn["n_characters"],
                    dim=cnn["embedding"]["dim"],
                    max_length=cnn["max_characters_per_token"],
                    filter_widths=tuple(width for width, _ in cnn["filters"]),
                    filter_counts=tuple(count for _, count in cnn["filters"]),
                    highways=cnn["n_highway"],
                    activation=cnn["activation"],
                ),
            )
        except SettingError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(
                "options.json: {reason} is missing or not what it should be.", reason=error
            ) from None

    def fits(self, config: Config) -> bool:
        return False  # these files are only read

    def load(self, path: Path, *, tied: bool | None) -> Loaded:
        from inlaid.neural.network import parameter_shapes

        config = self.read_folder(path)
        arrays = elmo.read_weights(path)
        check_parameters(path, config, [array.size for array in arrays.values()])
        places = {ours: _place(ours) for ours in parameter_shapes(config)}
        expected = {place.name for place in places.values()}
        if expected != arrays.keys():
            raise FormatError(
                "{path}: the weights lack {missing} and have {extra} too many. The file is damaged, or does "
                "not "
                "belong to its options.json.",
                path=path,
                missing=sorted(expected - arrays.keys()) or Message("nothing"),
                extra=sorted(arrays.keys() - expected) or Message("nothing"),
            )
        for name, array in arrays.items():
            _check_shape(path, name, array)
        return Loaded(config, {ours: _array(ours, arrays, config) for ours in places})

    def read_tokenizer(self, path: Path, config: Config) -> Any:
        return None


def _place(ours: str) -> Place:
    """`forward_lstms.1.input.weight` is in `RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/W_0`, and so on."""
    module, leaf = ours.rsplit(".", 1)
    transposed = leaf == "weight"
    letter = {"weight": "W", "bias": "b"}[leaf]
    parts = module.split(".")
    if parts[0] in DIRECTIONS:
        cell = f"RNN_{DIRECTIONS[parts[0]]}/RNN/MultiRNNCell/Cell{parts[1]}/LSTMCell"
        if parts[2] == "project":
            return Place(f"{cell}/W_P_0", transposed)
        return Place(f"{cell}/B" if leaf == "bias" else f"{cell}/W_0", transposed)
    if parts[1] == "table":
        return Place("char_embed")
    if parts[1] == "convolutions":
        return Place(f"CNN/{letter}_cnn_{parts[2]}")
    if parts[1] == "highways":
        return Place(f"CNN_high_{parts[2]}/{letter}_{HIGHWAY[parts[3]]}", transposed)
    return Place(f"CNN_proj/{letter}_proj", transposed)


def _check_shape(path: Path, name: str, array: np.ndarray) -> None:
    """The dimensions that `_array` relies on; the network knows how large each must be."""
    is_filter = name.startswith("CNN/W_cnn_")
    is_matrix = name == "char_embed" or "/W_" in name
    expected = 1
    if is_filter:
        expected = 4
    elif is_matrix:
        expected = 2
    if array.ndim != expected or (is_filter and len(array) != 1):
        raise FormatError(
            "{path}: {name} has shape {found}; expected {expected} dimensions, the first of a filter being "
            "1. Get the file again.",
            path=path,
            name=name,
            found=array.shape,
            expected=expected,
        )


def _array(ours: str, arrays: dict[str, np.ndarray], config: Config) -> np.ndarray:
    place = _place(ours)
    array = arrays[place.name]
    if place.transposed:
        array = np.ascontiguousarray(array.T)
    if place.name == "char_embed":
        return np.pad(array, ((1, 0), (0, 0)))  # their file lacks the row of zeros that means no token
    if array.ndim == 4:
        return np.ascontiguousarray(array[0].transpose(2, 1, 0))  # (1, width, in, out) -> (out, in, width)
    if place.name.endswith("/W_0"):  # the weights of input and output, stacked
        return array[:, : config.dim] if ".input." in ours else array[:, config.dim :]
    return array


ELMO = Elmo()
