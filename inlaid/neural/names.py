"""Names: what each family calls our parts, and how it lays its tensors out; no torch needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

OUTSIDE = ("cls.", "lm_head.", "final_logits_bias")
"""Names that never carry a family's prefix."""


@dataclass(frozen=True)
class Place:
    """Where one of our tensors lies in their file."""

    name: str
    turned: bool = False
    """They keep it (in, out)."""
    part: int | None = None
    """It is this third of a tensor that holds query, key and value side by side."""
    row: bool = False
    """They keep it as a matrix of one row."""


@dataclass(frozen=True)
class Names:
    """The names of one family. Templates: `{n}` is the number of a block, `|T` turned, `|0` a third, `|R` a
    row."""

    prefix: str
    """What a folder saved from a class with a head puts before most names, and one without does not."""
    parts: Mapping[str, str]
    """Our module or parameter -> theirs."""
    table: str
    """The input table."""
    head: str
    """The output table, where it is not the input table."""
    copies: Mapping[str, str]
    """Tensors that repeat another one, where a file has them at all."""
    unused: str
    """A pattern of tensors that are known and not needed: counters, waves, heads for other tasks."""
    target: str = ""
    """The input table of what is written, where it is not the input table."""
    shared: str = ""
    """What they go back to where one of two input tables, or the output table, is not stored."""
    silent: bool = False
    """Their config cannot say which tables are one: the tensors do."""

    @property
    def written(self) -> str:
        """The table that a tied head uses."""
        return self.target or self.table

    def place(self, ours: str) -> Place | None:
        """Where our parameter lies, or None for one this family has no name for."""
        number = re.search(r"\.blocks\.(\d+)\.", ours)
        generic = ours if number is None else ours.replace(number[0], ".blocks.{n}.", 1)
        module, _, leaf = generic.rpartition(".")
        template = self.parts.get(generic) or (
            f"{self.parts[module]}.{leaf}" if module in self.parts else None
        )
        if template is None:
            return None
        marked = re.search(r"\|(\w)", template)
        name = re.sub(r"\|\w", "", template).replace("{n}", number[1] if number else "")
        if marked is None or marked[1] == "R":
            return Place(name, row=marked is not None)
        return Place(name, leaf == "weight", None if marked[1] == "T" else int(marked[1]))


def _blocks(ours: str, theirs: str, parts: Mapping[str, str]) -> dict[str, str]:
    return {f"{ours}.blocks.{{n}}.{mine}": f"{theirs}.{{n}}.{other}" for mine, other in parts.items()}


BERT = Names(
    "bert.",
    {
        "tokens": "bert.embeddings.word_embeddings",
        "stack.positions.table": "bert.embeddings.position_embeddings.weight",
        "stack.segments": "bert.embeddings.token_type_embeddings",
        "stack.first_norm": "bert.embeddings.LayerNorm",
        "pooler": "bert.pooler.dense",
        "head.transform": "cls.predictions.transform.dense",
        "head.norm": "cls.predictions.transform.LayerNorm",
        "head.output.bias": "cls.predictions.bias",
        "head.output.table": "cls.predictions.decoder.weight",
        **_blocks(
            "stack",
            "bert.encoder.layer",
            {
                "attention.query": "attention.self.query",
                "attention.key": "attention.self.key",
                "attention.value": "attention.self.value",
                "attention.output": "attention.output.dense",
                "attention_norm": "attention.output.LayerNorm",
                "feed_forward.up": "intermediate.dense",
                "feed_forward.down": "output.dense",
                "feed_forward_norm": "output.LayerNorm",
            },
        ),
    },
    "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.weight",
    {"cls.predictions.decoder.bias": "cls.predictions.bias"},
    r"bert\.embeddings\.position_ids|cls\.seq_relationship\..*|bert\.pooler\.dense\..*",
)

GPT2 = Names(
    "transformer.",
    {
        "tokens": "transformer.wte",
        "stack.positions.table": "transformer.wpe.weight",
        "stack.last_norm": "transformer.ln_f",
        "head.table": "lm_head.weight",
        **_blocks(
            "stack",
            "transformer.h",
            {
                "attention.query": "attn.c_attn|0",
                "attention.key": "attn.c_attn|1",
                "attention.value": "attn.c_attn|2",
                "attention.output": "attn.c_proj|T",
                "attention_norm": "ln_1",
                "feed_forward.up": "mlp.c_fc|T",
                "feed_forward.down": "mlp.c_proj|T",
                "feed_forward_norm": "ln_2",
            },
        ),
    },
    "transformer.wte.weight",
    "lm_head.weight",
    {},
    r"transformer\.h\.\d+\.attn\.(masked_)?bias",
)

LLAMA = Names(
    "model.",
    {
        "tokens": "model.embed_tokens",
        "stack.last_norm": "model.norm",
        "head.table": "lm_head.weight",
        **_blocks(
            "stack",
            "model.layers",
            {
                "attention.query": "self_attn.q_proj",
                "attention.key": "self_attn.k_proj",
                "attention.value": "self_attn.v_proj",
                "attention.output": "self_attn.o_proj",
                "attention_norm": "input_layernorm",
                "feed_forward.up": "mlp.up_proj",
                "feed_forward.gate": "mlp.gate_proj",
                "feed_forward.down": "mlp.down_proj",
                "feed_forward_norm": "post_attention_layernorm",
            },
        ),
    },
    "model.embed_tokens.weight",
    "lm_head.weight",
    {},
    r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq",
)


def _t5_side(side: str, *, cross: bool, gated: bool) -> dict[str, str]:
    last = 2 if cross else 1
    attention = {part: f"layer.0.SelfAttention.{part[0]}" for part in ("query", "key", "value", "output")}
    memory = (
        {part: f"layer.1.EncDecAttention.{part[0]}" for part in ("query", "key", "value", "output")}
        if cross
        else {}
    )
    parts = {f"attention.{part}": name for part, name in attention.items()} | {
        f"cross.{part}": name for part, name in memory.items()
    }
    dense = f"layer.{last}.DenseReluDense"
    parts |= {
        "attention_norm": "layer.0.layer_norm",
        "cross_norm": "layer.1.layer_norm",
        "feed_forward_norm": f"layer.{last}.layer_norm",
    }
    parts |= {
        "feed_forward.down": f"{dense}.wo",
        "feed_forward.up": f"{dense}.wi_1" if gated else f"{dense}.wi",
    }
    parts |= {"feed_forward.gate": f"{dense}.wi_0"} if gated else {}
    bias = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    return _blocks(side, f"{side}.block", parts) | {
        f"{side}.positions.table": bias,
        f"{side}.last_norm": f"{side}.final_layer_norm",
    }


def _t5(*, gated: bool) -> Names:
    sides = _t5_side("encoder", cross=False, gated=gated) | _t5_side("decoder", cross=True, gated=gated)
    return Names(
        "",
        {"tokens": "shared", "head.table": "lm_head.weight", **sides},
        "shared.weight",
        "lm_head.weight",
        {"encoder.embed_tokens.weight": "shared.weight", "decoder.embed_tokens.weight": "shared.weight"},
        r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",
        silent=True,
    )


def _marian_side(side: str) -> dict[str, str]:
    ends = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    parts = {f"attention.{part}": f"self_attn.{name}" for part, name in ends.items()}
    parts |= {f"cross.{part}": f"encoder_attn.{name}" for part, name in ends.items()}
    parts |= {
        "attention_norm": "self_attn_layer_norm",
        "cross_norm": "encoder_attn_layer_norm",
        "feed_forward_norm": "final_layer_norm",
    }
    return _blocks(
        side, f"model.{side}.layers", parts | {"feed_forward.up": "fc1", "feed_forward.down": "fc2"}
    )


MARIAN = Names(
    "model.",
    {
        "tokens": "model.shared",
        "head.table": "lm_head.weight",
        "head.bias": "final_logits_bias|R",
        **_marian_side("encoder"),
        **_marian_side("decoder"),
    },
    "model.shared.weight",
    "lm_head.weight",
    {
        "model.encoder.embed_tokens.weight": "model.shared.weight",
        "model.decoder.embed_tokens.weight": "model.shared.weight",
    },
    r"model\.(encoder|decoder)\.embed_positions\.weight",
)

NAMES = {"bert": BERT, "gpt2": GPT2, "llama": LLAMA, "t5": _t5(gated=False), "marian": MARIAN}


def names_of(model_type: str, *, gated: bool = False, separate: bool = False) -> Names:
    """The names of a family; T5 calls its first projection otherwise where it has a gate.

    `separate`: what is read and what is written have a table each.
    """
    names = _t5(gated=True) if model_type == "t5" and gated else NAMES[model_type]
    return _separated(names) if separate else names


def _separated(names: Names) -> Names:
    table, target = names.copies  # the two sides, the encoder's first
    sides = {"tokens": table.removesuffix(".weight"), "target_tokens": target.removesuffix(".weight")}
    unused = f"{names.unused}|{re.escape(names.table)}"
    shared = names.table if names.silent else ""
    return replace(
        names,
        parts={**names.parts, **sides},
        table=table,
        target=target,
        copies={},
        unused=unused,
        shared=shared,
    )


def standard(name: str) -> str:
    """A name as it is written today: the first BERT files say gamma and beta."""
    return re.sub(
        r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
    )


def full_names(stored: Iterable[str], names: Names) -> dict[str, str]:
    """Full present-day name -> name in the file. A folder saved from a class without a head lacks the
    family's prefix."""
    known = {standard(name): name for name in stored}
    if names.prefix and not any(name.startswith(names.prefix) for name in known):
        known = {
            name if name.startswith(OUTSIDE) else names.prefix + name: file for name, file in known.items()
        }
    return known
