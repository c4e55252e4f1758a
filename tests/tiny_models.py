"""Folders of tiny models with known answers: blocks that add nothing, so that the output table decides.

decoder    words; after "I" comes "saw" (.55) or "like" (.45), see LIKELY
bytes      the bytes of UTF-8; after 三 comes 大, and then the end
masked     a mask is 苹果 (.5), 米饭 (.3) or 鱼 (.2), whatever is around it
seq2seq    small and random: what it says depends on what it reads
sentence   the encoder of `masked`, as sentence-transformers saves one

`python tests/tiny_models.py tiny` writes them into the folder `tiny`.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

WORDS = ["I", "saw", "like", "her", "him", "it", "tea", ".", "<unk>"]
LIKELY = {
    "I": {"saw": 0.55, "like": 0.45},
    "saw": {"her": 0.4, "him": 0.35, "it": 0.25},
    "like": {"tea": 0.9, "it": 0.1},
} | {word: {".": 1.0} for word in ("her", "him", "it", "tea", ".", "<unk>")}
END = 7
MASKED = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "我", "喜", "欢", "吃", "苹果", "米饭", "鱼", "，"]
FILLS = {"苹果": 0.5, "米饭": 0.3, "鱼": 0.2}
SEQ2SEQ = [
    "<pad>",
    "</s>",
    "<unk>",
    "我",
    "你",
    "打",
    "好",
    "久",
    "不",
    "见",
    "long",
    "time",
    "no",
    "see",
    "I",
    "you",
    "hit",
]
CHAIN = "三大".encode()
"""Bytes of which each occurs once, so that each can tell the next."""


def make(folder: Path) -> Path:
    """Write all models into a folder."""
    import torch

    torch.manual_seed(1)
    for name, model in (("decoder", decoder()), ("bytes", byte_decoder()), ("masked", masked())):
        _save(model, folder / name)
    _save(seq2seq(), folder / "seq2seq")
    _save(masked(), folder / "sentence")
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    (folder / "sentence" / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence" / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": len(MASKED), "pooling_mode_cls_token": True}
    (folder / "sentence" / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


def _save(model: Any, folder: Path) -> None:
    from inlaid.neural.checkpoint import save_model

    save_model(model, folder)


def word_tokenizer(words: list[str], unknown: str, special: tuple[str, ...] = ()) -> Any:
    import tokenizers

    vocabulary = {word: id for id, word in enumerate(words)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=unknown))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.add_special_tokens(list(special))
    return made


def _table_model(probabilities: Any, tokenizer: Any, **settings: Any) -> Any:
    """A network whose logits at a token are the logarithms of a row of `probabilities`."""
    import torch

    from inlaid.neural.config import make_config
    from inlaid.neural.model import Model
    from inlaid.neural.network import make_network

    size = len(probabilities)
    given = {"vocab_size": size, "dim": size, "layers": 2, "norm.final": False, "positions.kind": "none"}
    network = (
        make_network(make_config({**given, "head.tied": False, **settings})).eval().requires_grad_(False)
    )
    for parameter in network.parameters():
        parameter.zero_()
    network.tokens.weight.copy_(torch.eye(size))
    return Model(network, tokenizer), torch.tensor(probabilities).log().T


def decoder() -> Any:
    rows = [[LIKELY[last].get(word, 1e-12) for word in WORDS] for last in WORDS]
    tokenizer = word_tokenizer(WORDS, "<unk>")
    model, table = _table_model(rows, tokenizer, kind="decoder", **{"special.end": (END,)})
    model.network.head.table.copy_(table)
    return model


def byte_decoder() -> Any:
    import tokenizers

    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: id for id, letter in enumerate([*alphabet, "<|end|>"])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(["<|end|>"])
    end = len(alphabet)
    ids = [*made.encode(CHAIN.decode()).ids, end]
    rows = [[1e-9] * (end + 1) for _ in range(end + 1)]
    for one, other in itertools.pairwise(ids):
        rows[one][other] = 1.0
    model, table = _table_model(rows, made, kind="decoder", **{"special.end": (end,)})
    model.network.head.table.copy_(table)
    return model


def masked() -> Any:
    import tokenizers
    import torch

    tokenizer = word_tokenizer(MASKED, "[UNK]", ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Whitespace(),
            tokenizers.pre_tokenizers.Split(tokenizers.Regex("苹果|米饭|."), "isolated"),
        ]
    )
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    rows = [[FILLS.get(word, 1e-12) for word in MASKED] for _ in MASKED]
    model, _ = _table_model(
        rows, tokenizer, kind="encoder", **{"special.padding": 0, "head.kind": "masked", "head.bias": True}
    )
    head = model.network.head
    # every token has the same features, and the bias of the output table is the logarithm of the answer
    head.output.bias.copy_(torch.tensor(rows[0]).log())
    return model


def seq2seq() -> Any:
    import tokenizers
    import torch

    from inlaid.neural.config import make_config
    from inlaid.neural.model import Model
    from inlaid.neural.network import make_network

    tokenizer = word_tokenizer(SEQ2SEQ, "<unk>", ("<pad>", "</s>", "<unk>"))
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    config = make_config(
        {
            "kind": "seq2seq",
            "vocab_size": len(SEQ2SEQ),
            "dim": 16,
            "attention.heads": 2,
            "layers": 1,
            "decoder_layers": 2,
            "positions.max_length": 24,
            "special.padding": 0,
            "special.start": 0,
            "special.end": (1,),
        }
    )
    network = make_network(config)
    torch.manual_seed(0)
    for parameter in network.parameters():
        parameter.data.normal_()
    return Model(network.eval(), tokenizer)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir()
    make(target)
