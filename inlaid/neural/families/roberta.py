"""RoBERTa: BERT with positions that start after the padding id, and byte-level BPE (Liu et al. 2019)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from tokenizers import Tokenizer, processors

from inlaid.encode.subwords.loading import of_model
from inlaid.errors import FormatError
from inlaid.neural.config import Config
from inlaid.neural.families.bert import BLOCK, OLD_NAMES, Bert
from inlaid.neural.families.family import JSON, read_end, write_end
from inlaid.neural.families.names import Names, blocks

START = "<s>"
END = "</s>"


class Roberta(Bert):
    model_type = "roberta"
    tokenizer_class = "RobertaTokenizer"
    keys: ClassVar = {
        **{name: key for name, key in Bert.keys.items() if name != "positions.max_length"},
        "vocab_size": ("vocab_size", 50265),
        "special.padding": ("pad_token_id", 1),
        "special.start": ("bos_token_id", 0),
    }
    fixed: ClassVar = {**Bert.fixed, "positions.skip_padding": True}
    also_read: ClassVar = (*Bert.also_read, "eos_token_id", "max_position_embeddings")
    no_effect: ClassVar = ("classifier_dropout", "initializer_range", "use_cache")
    classes: ClassVar = {"masked": "RobertaForMaskedLM", "none": "RobertaModel"}

    def read_more(self, raw: JSON) -> dict[str, Any]:
        """Positions are counted from padding id + 1, so the first rows of their position table are spare."""
        padding = raw.get("pad_token_id", 1)
        if padding is None:
            raise FormatError("config.json: pad_token_id is null; RoBERTa counts its positions from it.")
        rows = raw.get("max_position_embeddings", 512)
        has_head = self.class_name(raw) != self.classes["none"]
        return {
            **super().read_more(raw),
            # the head always uses GELU, whatever hidden_act says
            "head.activation": "gelu" if has_head else None,
            "special.padding": padding,
            "special.end": read_end(raw, 2),
            "positions.offset": padding + 1,
            "positions.max_length": rows - padding - 1,
        }

    def write_more(self, config: Config) -> dict[str, Any]:
        return {
            **super().write_more(config),
            "max_position_embeddings": config.positions.max_length + config.positions.offset,
            "eos_token_id": write_end(config),
        }

    def names(self, config: Config) -> Names:
        names = Names(
            prefix="roberta.",
            without_prefix=("lm_head.",),
            parts={
                "tokens": "roberta.embeddings.word_embeddings",
                "stack.positions.table": "roberta.embeddings.position_embeddings.weight",
                "stack.segments": "roberta.embeddings.token_type_embeddings",
                "stack.embedding_norm": "roberta.embeddings.LayerNorm",
                "pooler": "roberta.pooler.dense",
                "head.transform": "lm_head.dense",
                "head.norm": "lm_head.layer_norm",
                "head.output.bias": "lm_head.bias",
                "head.output.table": "lm_head.decoder.weight",
                **blocks("stack", "roberta.encoder.layer", BLOCK),
            },
            input_table="roberta.embeddings.word_embeddings.weight",
            output_table="lm_head.decoder.weight",
            copies={"lm_head.decoder.bias": "lm_head.bias"},
            unused=r"roberta\.embeddings\.position_ids|roberta\.pooler\.dense\..*",
            old_names=OLD_NAMES,
        )
        return names if config.head.tied else names.with_own_bias()

    def read_tokenizer(self, path: Path, config: Config) -> Any:
        """vocab.json and merges.txt say nothing of the "<s>" and "</s>" around a text: they are added
        here."""
        tokenizer = of_model(path, reads_both_ways=False)
        if isinstance(tokenizer, Tokenizer) and not (path / "tokenizer.json").is_file():
            tokenizer.post_processor = between(tokenizer, path)
        return tokenizer


def between(tokenizer: Tokenizer, path: Path) -> processors.RobertaProcessing:
    """A text is put between "<s>" and "</s>"."""
    start = tokenizer.token_to_id(START)
    end = tokenizer.token_to_id(END)
    if start is None or end is None:
        raise FormatError(
            "{path}: the vocabulary has no {start} and {end}, which surround a text. Get the files again.",
            path=path,
            start=START,
            end=END,
        )
    return processors.RobertaProcessing((END, end), (START, start), trim_offsets=True, add_prefix_space=False)


ROBERTA = Roberta()
