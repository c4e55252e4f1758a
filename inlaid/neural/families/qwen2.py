"""Qwen2: Llama with a bias in the query, key and value projections only (Yang et al. 2024)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from tokenizers import AddedToken, Tokenizer

from inlaid.encode.subwords.loading import of_model
from inlaid.errors import FormatError
from inlaid.neural.config import Config
from inlaid.neural.families.family import JSON
from inlaid.neural.families.llama import BIAS, Llama
from inlaid.neural.families.tokenizer_classes import qwen2_parts
from inlaid.neural.families.windows import (
    SLIDING,
    check_layer_types,
    make_layer_types,
    read_windows,
    write_layer_types,
)
from inlaid.untrusted import read_json_object

ADDED = "added_tokens_decoder"


class Qwen2(Llama):
    model_type = "qwen2"
    tokenizer_class = "Qwen2Tokenizer"
    tokenizer_class_fixed = True
    keys: ClassVar = {
        **{name: key for name, key in Llama.keys.items() if name not in BIAS},
        "vocab_size": ("vocab_size", 151936),
        "attention.kv_heads": ("num_key_value_heads", 32),
        "feed_forward.dim": ("intermediate_size", 22016),
        "positions.max_length": ("max_position_embeddings", 32768),
        "special.start": ("bos_token_id", None),
    }
    fixed: ClassVar = {
        **Llama.fixed,
        "attention.bias": True,
        "attention.output_bias": False,
        "feed_forward.bias": False,
    }
    required: ClassVar = {}
    also_read: ClassVar = (
        *Llama.also_read,
        "layer_types",
        "max_window_layers",
        "sliding_window",
        "use_sliding_window",
    )
    classes: ClassVar = {"linear": "Qwen2ForCausalLM", "none": "Qwen2Model"}
    default_end = None

    def read_more(self, raw: JSON) -> dict[str, Any]:
        """Sliding windows are those of the later layers, unless `layer_types` says otherwise."""
        layers = raw.get(*self.keys["layers"])
        window = raw.get("sliding_window", 4096) if raw.get("use_sliding_window", False) else None
        types = raw.get("layer_types")
        if types is None:
            last_full = raw.get("max_window_layers", 28)
            types = make_layer_types(layers, lambda layer: window is not None and layer >= last_full)
        check_layer_types(types, layers)
        if window is None and SLIDING in types:
            raise FormatError(
                "config.json: layer_types has {sliding}, but use_sliding_window is false or sliding_window "
                "null. Make them agree.",
                sliding=SLIDING,
            )
        return {**super().read_more(raw), **read_windows(types, self.our_window(raw, window))}

    def write_more(self, config: Config) -> dict[str, Any]:
        more = {**super().write_more(config), "layer_types": write_layer_types(config)}
        if not config.attention.window:
            return {**more, "use_sliding_window": False}
        return {**more, "use_sliding_window": True, "sliding_window": self.their_window(config)}

    def read_tokenizer(self, path: Path, config: Config) -> Any:
        """vocab.json and merges.txt do not say how text is split, nor which special tokens there are."""
        tokenizer = of_model(path, reads_both_ways=False)
        if isinstance(tokenizer, Tokenizer) and not (path / "tokenizer.json").is_file():
            parts = qwen2_parts()
            tokenizer.normalizer = parts.normalizer
            tokenizer.pre_tokenizer = parts.pre_tokenizer
            _add_special_tokens(tokenizer, path / "tokenizer_config.json")
        return tokenizer


def _add_special_tokens(tokenizer: Tokenizer, path: Path) -> None:
    """Add the tokens that tokenizer_config.json lists after the vocabulary, if there is such a file."""
    if not path.is_file():
        return
    entries = read_json_object(path).get(ADDED, {})
    try:
        listed = {int(id): str(entry["content"]) for id, entry in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(
            "{path}: {key} cannot be read ({reason}).", path=path, key=ADDED, reason=error
        ) from None
    for id, token in sorted(listed.items()):
        tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False)])
        if tokenizer.token_to_id(token) != id:
            raise FormatError(
                "{path}: {token} should have id {id}, but comes after {size:,} words. Get tokenizer.json "
                "as well.",
                path=path,
                token=token,
                id=id,
                size=tokenizer.get_vocab_size() - 1,
            )


QWEN2 = Qwen2()
