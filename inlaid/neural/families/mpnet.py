"""MPNet: RoBERTa without segments, and with T5's distance biases shared by all layers (Song et al. 2020)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from tokenizers import AddedToken, Tokenizer

from inlaid.encode.subwords.loading import of_model
from inlaid.neural.config import Config
from inlaid.neural.families.family import JSON
from inlaid.neural.families.names import Names, blocks
from inlaid.neural.families.roberta import END, START, Roberta, between

BLOCK = {
    "attention.query": "attention.attn.q",
    "attention.key": "attention.attn.k",
    "attention.value": "attention.attn.v",
    "attention.output": "attention.attn.o",
    "attention_norm": "attention.LayerNorm",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}
BUCKETS = 32
"""Their code uses this many, whatever the config says."""


class Mpnet(Roberta):
    model_type = "mpnet"
    tokenizer_class = "MPNetTokenizer"
    keys: ClassVar = {
        **{name: key for name, key in Roberta.keys.items() if name != "segment_types"},
        "vocab_size": ("vocab_size", 30527),
        "positions.buckets": ("relative_attention_num_buckets", BUCKETS),
    }
    fixed: ClassVar = {**Roberta.fixed, "positions.kind": "learned-t5"}
    # positions are counted from id 1, whatever the padding id is
    required: ClassVar = {"relative_attention_num_buckets": BUCKETS, "pad_token_id": 1}
    no_effect: ClassVar = ("initializer_range",)
    classes: ClassVar = {"masked": "MPNetForMaskedLM", "none": "MPNetModel"}

    def read_more(self, raw: JSON) -> dict[str, Any]:
        return super().read_more({"pad_token_id": 1, **raw})

    def names(self, config: Config) -> Names:
        return Names(
            prefix="mpnet.",
            without_prefix=("lm_head.",),
            parts={
                "tokens": "mpnet.embeddings.word_embeddings",
                "stack.positions.table": "mpnet.embeddings.position_embeddings.weight",
                "stack.positions.buckets.table": "mpnet.encoder.relative_attention_bias.weight",
                "stack.embedding_norm": "mpnet.embeddings.LayerNorm",
                "pooler": "mpnet.pooler.dense",
                "head.transform": "lm_head.dense",
                "head.norm": "lm_head.layer_norm",
                "head.output.bias": "lm_head.bias",
                "head.output.table": "lm_head.decoder.weight",
                **blocks("stack", "mpnet.encoder.layer", BLOCK),
            },
            input_table="mpnet.embeddings.word_embeddings.weight",
            output_table="lm_head.decoder.weight",
            copies={"lm_head.decoder.bias": "lm_head.bias"},
            unused=r"mpnet\.embeddings\.position_ids|mpnet\.pooler\.dense\..*",
        )

    def read_tokenizer(self, path: Path, config: Config) -> Any:
        """A vocab.txt is BERT's, with RoBERTa's special tokens."""
        tokenizer = of_model(path, reads_both_ways=True, around=(START, END))
        if isinstance(tokenizer, Tokenizer) and not (path / "tokenizer.json").is_file():
            tokenizer.post_processor = between(tokenizer, path)
            tokenizer.add_special_tokens([START, "<pad>", END, "[UNK]"])
            tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
        return tokenizer


MPNET = Mpnet()
