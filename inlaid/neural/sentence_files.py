"""Sentence files: the settings of a folder of sentence-transformers.

modules.json lists the steps: the Transformer, a Pooling, and layers after it (Dense, LayerNorm, Normalize,
Dropout). A step that is not known, or that is set in a way that is not known, is refused by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from inlaid.errors import FormatError, SettingError
from inlaid.formats.huggingface import open_weights
from inlaid.messages import Listed
from inlaid.neural.pooling import check_poolings
from inlaid.neural.sentence import SIMILARITIES, Dense, LayerNorm, Normalize, Sentence
from inlaid.neural.weights import check_finite
from inlaid.untrusted import read_json, read_json_object

MODULES = "modules.json"
PROMPTS = "config_sentence_transformers.json"
TRANSFORMER = "sentence_bert_config.json"
OLD_TRANSFORMERS = (
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
)
"""Its names in older folders; sentence-transformers reads no others."""
TOKENIZER_SETTINGS = "tokenizer_config.json"
NO_LIMIT = 1 << 30
"""A tokenizer without a limit says so by a larger number."""
LONGEST_NAME = 200
"""Characters of the longest name of a folder."""
PREFIX = "sentence_transformers."
FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""How files name the poolings that are used, in the order of their concatenation."""
ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "Sigmoid", "SiLU", "ELU", "LeakyReLU", "Mish", "Softplus")
ACTIVATION_PREFIX = "torch.nn.modules."
TEXT_ONLY = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
PLAIN: Mapping[str, tuple[Any, ...]] = {
    "transformer_task": ("feature-extraction",),
    "modality_config": (TEXT_ONLY,),
    "module_output_name": ("token_embeddings",),
    "model_args": ({},),
    "tokenizer_args": ({},),
    "config_args": ({},),
    "model_kwargs": ({},),
    "processor_kwargs": ({},),
    "config_kwargs": ({},),
    "processing_kwargs": ({}, None),
    "unpad_inputs": (True, False, None),
    "query_length": (None,),
    "document_length": (None,),
    "query_expansion": (None,),
    "tokenizer_name_or_path": (None,),
}
"""Settings of the Transformer module, with the values under which it is the network and nothing else."""


def network_folder(path: Path) -> Path:
    """Where the network is: the folder itself, or the one inside that modules.json names."""
    return path / _module_list(path)[0]["path"] if (path / MODULES).is_file() else path


def read_sentence(path: Path, dim: int, max_length: int | None) -> Sentence | None:
    """The settings of a folder; None if it has no modules.json.

    `dim` is that of the hidden states. `max_length` holds unless the folder has a max_seq_length.
    """
    if not (path / MODULES).is_file():
        return None
    reader = _Reader(path, dim)
    for number, module in enumerate(_module_list(path)):
        reader.add(number, module)
    if not reader.poolings:
        raise FormatError("{path}: it has no Pooling, so no vector of a text.", path=path / MODULES)
    more = _read_settings(path / PROMPTS) | _read_transformer(path / reader.first, max_length)
    return Sentence(
        poolings=reader.poolings,
        include_prompt=reader.include_prompt,
        layers=nn.ModuleList(reader.layers).eval().requires_grad_(False),
        **more,
    )


class _Reader:
    """The modules of a folder, one after the other, each of the dimension that the one before it gives."""

    def __init__(self, path: Path, dim: int) -> None:
        self.path = path
        self.dim = dim
        self.first = ""
        self.poolings: tuple[str, ...] = ()
        self.include_prompt = True
        self.layers: list[nn.Module] = []

    def add(self, number: int, module: Mapping[str, Any]) -> None:
        kind = module["type"].rpartition(".")[2] if module["type"].startswith(PREFIX) else module["type"]
        readers = {
            "Pooling": self._pooling,
            "Dense": self._dense,
            "LayerNorm": self._layer_norm,
            "Normalize": self._normalize,
            "Dropout": lambda _: None,
        }
        pooled = bool(self.poolings)
        if number == 0 and kind == "Transformer":
            self.first = module["path"]
        elif kind in readers and number > 0 and pooled == (kind != "Pooling"):
            readers[kind](self.path / module["path"])
        else:
            raise FormatError(
                "{path}: module {number} is {kind}, which is not supported at this place. Expected a "
                "Transformer, a Pooling, then any of Dense, LayerNorm, Normalize, Dropout.",
                path=self.path / MODULES,
                number=number,
                kind=kind,
            )

    def _pooling(self, path: Path) -> None:
        raw = read_json_object(path / "config.json")
        dim = raw.pop("word_embedding_dimension", raw.pop("embedding_dimension", self.dim))
        self.include_prompt = _switch(path, "include_prompt", raw.pop("include_prompt", True))
        flags = {mode: raw.pop(flag, False) for flag, mode in FLAGS.items()}
        modes = raw.pop("pooling_mode", None) or [mode for mode, used in flags.items() if used] or "mean"
        _refuse_unknown(path, raw)
        if dim != self.dim:
            raise FormatError(
                "{path}: it pools vectors of {found}; the network's have {expected} components.",
                path=path,
                found=dim,
                expected=self.dim,
            )
        named = [modes] if isinstance(modes, str) else modes
        if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
            raise FormatError(
                "{path}: pooling_mode is {found!r}; expected names of poolings.", path=path, found=modes
            )
        try:
            self.poolings = check_poolings(named)
        except SettingError as error:
            raise FormatError("{path}: {reason}", path=path, reason=error) from None
        self.dim *= len(self.poolings)

    def _dense(self, path: Path) -> None:
        raw = read_json_object(path / "config.json")
        self._check_dim(path, raw.pop("in_features", None))
        dim = _size(path, "out_features", raw.pop("out_features", None))
        if dim is None:
            raise FormatError("{path}: its config.json has no out_features.", path=path)
        activation = str(raw.pop("activation_function", ACTIVATION_PREFIX + "activation.Tanh"))
        name = activation.rpartition(".")[2]
        if name not in ACTIVATIONS or not activation.startswith("torch.nn."):
            raise FormatError(
                "{path}: its activation is {found}; supported are {known} of torch.nn.",
                path=path,
                found=activation,
                known=Listed(ACTIVATIONS),
            )
        bias = _switch(path, "bias", raw.pop("bias", True))
        residual = _switch(path, "use_residual", raw.pop("use_residual", False))
        _refuse_other_features(path, raw)
        with torch.device("meta"):  # no memory until the weights turn out to have these shapes
            layer = Dense((self.dim, dim), bias=bias, activation=name, residual=residual)
        self._append(path, layer)
        self.dim = dim

    def _layer_norm(self, path: Path) -> None:
        raw = read_json_object(path / "config.json")
        self._check_dim(path, raw.pop("dimension", None))
        _refuse_unknown(path, raw)
        self._append(path, LayerNorm(self.dim))

    def _normalize(self, path: Path) -> None:
        config = path / "config.json"
        _refuse_other_features(path, read_json_object(config) if config.is_file() else {})
        self.layers.append(Normalize())

    def _check_dim(self, path: Path, dim: Any) -> None:
        if dim != self.dim:
            raise FormatError(
                "{path}: it takes vectors of {found} components; the module before gives {expected}.",
                path=path,
                found=dim,
                expected=self.dim,
            )

    def _append(self, path: Path, layer: nn.Module) -> None:
        folder = open_weights(path, {})
        expected = {name: tuple(tensor.shape) for name, tensor in layer.state_dict().items()}
        found = {name: stored.shape for name, stored in folder.tensors.items()}
        if expected != found:
            raise FormatError(
                "{path}: its weights are {found}; its config.json asks for {expected}.",
                path=path,
                found=found,
                expected=expected,
            )
        tensors = {name: folder.read(name) for name in expected}
        for name, tensor in tensors.items():
            check_finite(path, name, tensor)
        layer.load_state_dict(tensors, assign=True)
        self.layers.append(layer)


def _module_list(path: Path) -> list[dict[str, Any]]:
    """The modules in order; each has a type, and a path inside the folder."""
    modules = read_json(path / MODULES)
    for module in modules if isinstance(modules, list) and modules else [None]:
        known = module if isinstance(module, dict) else {}
        if not isinstance(known.get("type"), str) or not _is_inside(known.get("path")):
            raise FormatError(
                "{path}: expected a list of modules, each with a type and a path inside the folder; found "
                "{found!r}.",
                path=path / MODULES,
                found=module,
            )
    return modules


def _is_inside(path: Any) -> bool:
    if not isinstance(path, str) or Path(path).is_absolute() or "\0" in path:
        return False
    parts = Path(path).parts
    return ".." not in parts and all(len(part) <= LONGEST_NAME for part in parts)


def _read_settings(path: Path) -> dict[str, Any]:
    """Prompts and similarity."""
    raw = read_json_object(path) if path.is_file() else {}
    named = raw.get("prompts") or {}
    if not isinstance(named, dict):
        raise FormatError(
            "{path}: prompts is {found!r}; expected an object of names and texts.", path=path, found=named
        )
    prompts = {name: text or "" for name, text in named.items()}
    default = raw.get("default_prompt_name")
    if not all(isinstance(text, str) for text in prompts.values()) or default not in (None, *prompts):
        raise FormatError(
            "{path}: the default prompt is {default!r}; expected one of the prompts, which are {known}.",
            path=path,
            default=default,
            known=prompts,
        )
    found = raw.get("similarity_fn_name")
    if found not in (None, *SIMILARITIES):
        raise FormatError(
            "{path}: similarity_fn_name is {found!r}; supported are {known}.",
            path=path,
            found=found,
            known=Listed(SIMILARITIES),
        )
    return {
        "prompts": prompts,
        "default_prompt_name": default,
        "similarity": found,
        "dim": _size(path, "truncate_dim", raw.get("truncate_dim")),
    }


def _read_transformer(folder: Path, max_length: int | None) -> dict[str, Any]:
    """Length and case. Without max_seq_length, the limits of the tokenizer and the network hold."""
    places = [folder / name for name in (TRANSFORMER, *OLD_TRANSFORMERS)]
    path = next((place for place in places if place.is_file()), places[0])
    raw = read_json_object(path) if path.is_file() else {}
    tokenizer = folder / TOKENIZER_SETTINGS
    settings = read_json_object(tokenizer) if tokenizer.is_file() else {}
    length = _size(path, "max_seq_length", raw.pop("max_seq_length", None))
    lower = bool(raw.pop("do_lower_case", False))
    for name, value in raw.items():
        if value not in PLAIN.get(name, ()):
            raise FormatError(
                "{path}: {name} is {found!r}, which is not supported. Texts would be embedded differently.",
                path=path,
                name=name,
                found=value,
            )
    own = settings.get("model_max_length")
    if length is None:
        limits = [limit for limit in (own, max_length) if isinstance(limit, int) and 0 < limit < NO_LIMIT]
        length = min(limits, default=None)
    side = settings.get("truncation_side", "right")
    return {"max_length": length, "lower": lower, "truncation_side": side}


def _switch(path: Path, name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise FormatError(
            "{path}: {name} is {found!r}; expected true or false.", path=path, name=name, found=value
        )
    return value


def _size(path: Path, name: str, value: Any) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise FormatError(
            "{path}: {name} is {found!r}; expected 1 or more.", path=path, name=name, found=value
        )
    return value


def _refuse_other_features(path: Path, raw: dict[str, Any]) -> None:
    """Layers here take and give the vector of a text; there they may also take those of its tokens."""
    for name in ("module_input_name", "module_output_name"):
        found = raw.pop(name, None)
        if found not in (None, "sentence_embedding"):
            raise FormatError(
                "{path}: {name} is {found!r}; only 'sentence_embedding' is supported.",
                path=path,
                name=name,
                found=found,
            )
    _refuse_unknown(path, raw)


def _refuse_unknown(path: Path, raw: Mapping[str, Any]) -> None:
    if raw:
        raise FormatError(
            "{path}: it has settings that are not known: {names}.", path=path, names=Listed(sorted(raw))
        )
