"""Sentence write: the files from which sentence-transformers makes the same vectors."""

from __future__ import annotations

import json
from typing import Any

from safetensors.torch import save as safetensors_bytes
from torch import nn

from inlaid.formats.huggingface import WEIGHTS
from inlaid.neural.pooling import POOLINGS
from inlaid.neural.sentence import Dense, LayerNorm, Sentence
from inlaid.neural.sentence_files import FLAGS, MODULES, PREFIX, PROMPTS, TRANSFORMER


def sentence_files(sentence: Sentence, dim: int) -> dict[str, bytes]:
    """The files, by their paths in the folder, from which sentence-transformers makes the same vectors."""
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")]
    files = {
        TRANSFORMER: _json({"max_seq_length": sentence.max_length, "do_lower_case": sentence.lower}),
        PROMPTS: _json(
            {
                "prompts": dict(sentence.prompts),
                "default_prompt_name": sentence.default_prompt_name,
                "similarity_fn_name": sentence.similarity,
                "truncate_dim": sentence.dim,
            }
        ),
        "1_Pooling/config.json": _json(_pooling_settings(sentence, dim)),
    }
    for number, layer in enumerate(sentence.layers, start=2):
        kind = type(layer).__name__
        folder = f"{number}_{kind}"
        modules.append((folder, kind))
        files[f"{folder}/config.json"] = _json(_layer_settings(layer))
        if layer.state_dict():
            tensors = {name: tensor.cpu().contiguous() for name, tensor in layer.state_dict().items()}
            files[f"{folder}/{WEIGHTS}"] = safetensors_bytes(tensors)
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"{PREFIX}models.{kind}"}
        for number, (path, kind) in enumerate(modules)
    ]
    return {MODULES: _json(listed), **files}


def _pooling_settings(sentence: Sentence, dim: int) -> dict[str, Any]:
    modes = sentence.poolings
    more: dict[str, Any] = {flag: mode in modes for flag, mode in FLAGS.items()}
    if modes != tuple(mode for mode in POOLINGS if mode in modes):
        more = {"pooling_mode": list(modes)}  # flags have an order of their own
    return {"word_embedding_dimension": dim, **more, "include_prompt": sentence.include_prompt}


def _layer_settings(layer: nn.Module) -> dict[str, Any]:
    if isinstance(layer, LayerNorm):
        return {"dimension": layer.norm.normalized_shape[0]}
    if not isinstance(layer, Dense):
        return {}
    kind = type(layer.activation)
    settings: dict[str, Any] = {
        "in_features": layer.linear.in_features,
        "out_features": layer.linear.out_features,
        "bias": layer.linear.bias is not None,
        "activation_function": f"{kind.__module__}.{kind.__name__}",
    }
    return settings | ({"use_residual": True} if layer.adds_input else {})


def _json(values: Any) -> bytes:
    return json.dumps(values, indent=2, ensure_ascii=False).encode("utf-8")
