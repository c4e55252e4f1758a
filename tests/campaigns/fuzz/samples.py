"""Small valid files of every kind that Inlaid reads; mutants are made of them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import inlaid
from inlaid.encode.corpus import Encoding, encode
from inlaid.encode.ngrams import NGrams
from inlaid.encode.vocabulary import Words
from inlaid.report import silent
from inlaid.vectors import Vectors

SENTENCES = [
    "the cat sits on the mat in north city",
    "the dog runs to the city of cats and mats",
    "我 喜欢 北京 的 猫 和 狗",
    "猫 在 北京 的 家 里 跑",
    "a naïve 🙂 dog likes the cat of the north",
    "north and south meet in the city on a mat",
]
TEXT = SENTENCES * 5


def vectors(*, ngrams: bool = False, dim: int = 6) -> Vectors:
    words = ["the", "of", "猫", "naïve", "北京", "🙂", *(f"w{n}" for n in range(20))]
    chance = np.random.default_rng(1)
    table = chance.standard_normal((len(words), dim)).astype(np.float32)
    subwords = None
    if ngrams:
        own = chance.standard_normal(table.shape).astype(np.float32)
        buckets = chance.standard_normal((50, dim)).astype(np.float32)
        subwords = NGrams(own=own, buckets=buckets, kept=None, size=50, min_n=2, max_n=4)
    counts = np.arange(len(words), 0, -1)
    return Vectors(Words.of(words), table, counts, contexts=table[::-1].copy(), subwords=subwords)


def saved(path: Path, format: str, value: Vectors, **settings: Any) -> Path:
    inlaid.save(value, path, format=format, report=silent, **settings)
    return path


def ftz(model: bytes, words: int, buckets: int, dim: int) -> bytes:
    """A quantized fastText model: a plain one with random codes and centroids as its input matrix."""
    outputs = 1 + 16 + 4 * words * dim
    inputs = 1 + 16 + 4 * (words + buckets) * dim
    chance = np.random.default_rng(2)
    rows = words + buckets
    parts = dim // 2
    quantized = struct.pack("<?", True) + struct.pack("<?qqi", True, rows, dim, rows * parts)
    quantized += chance.integers(0, 256, rows * parts, np.uint8).tobytes()
    quantized += _centroids(dim, parts, chance)
    quantized += chance.integers(0, 256, rows, np.uint8).tobytes() + _centroids(1, 1, chance)
    return model[: -outputs - inputs] + quantized + model[-outputs:]


def _centroids(dim: int, parts: int, chance: np.random.Generator) -> bytes:
    head = struct.pack("<iiii", dim, parts, dim // parts, dim // parts)
    return head + chance.standard_normal(dim * 256).astype("<f4").tobytes()


def corpus(folder: Path, **settings: Any) -> Path:
    encode(SENTENCES * 10, Encoding(min_count=1, **settings), silent, workers=1, out=folder)
    return folder


def tokenizer(kind: str, size: int) -> Any:
    from inlaid.encode.subwords.training import learn

    return learn(kind, TEXT, size=size)


def sentencepiece(kind: str) -> bytes:
    """A SentencePiece model as its own trainer writes it."""
    import sentencepiece as library

    written = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT),
        model_writer=written,
        vocab_size=80,
        model_type=kind,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
    )
    return written.getvalue()


TASKS = {
    "analogies.txt": ": capital\nthe of 猫 naïve\nw0 w1 w2 w3\n: plural\nw4 w5 w6 w7\nw1 w2 w3 w4\n",
    "pairs.tsv": "word1\tword2\tscore\nthe\tof\t3.5\nw0\tw1\t1\n猫\t北京\t2e0\nw3\tw4\t0.25\n",
    "pairs.txt": "the of 3.5\nw0 w1 1\n猫 北京 2\nw3 w4 .25\nw5 w6 1\n",
    "categories.csv": "category,word\nanimal,猫\nanimal,w1\ncity,北京\ncity,w2\nother,w3\n",
    "outliers.tsv": (
        "category\toutliers\twords\na\t['w1', 'w2']\t['w3', 'w4', 'w5']\nb\t['w6']\t['w7', 'w8']\n"
    ),
    "sentences.tsv": "sentence1\tsentence2\tscore\nthe of w1\tw2 w3\t3\nw1 w2\tw1 w3\t4\n猫 w3\t北京\t1\n",
    "texts.csv": "label,text\n1,the of w1\n0,w2 w3\n1,猫 w4\n0,w5 w6\n1,w7 the\n0,w8 of\n",
    "texts.txt": "".join(f"__label__{'ab'[n % 2]} w{n} the w{n + 1}\n" for n in range(12)),
}
DICTIONARIES = {
    "columns.txt": "cat 猫\ndog\t狗\nnorth 北\nthe 的\n",
    "cedict.txt": "貓 猫 [mao1] /cat/(dialect) to hide/\n狗 狗 [gou3] /dog/CL:隻|只[zhi1]/\n"
    "北 北 [bei3] /north/\n",
    "words.txt": "北京大学 100 n\n喜欢\n自然语言处理 5\n",
}


def text_sources() -> dict[str, bytes]:
    """Text in every container that is read: plain, records, compressed."""
    plain = "\n".join(TEXT).encode()
    records = "".join(
        json.dumps({"id": n, "text": line}, ensure_ascii=False) + "\n" for n, line in enumerate(TEXT)
    )
    found = {
        "text.txt": plain,
        "text.txt.gz": gzip.compress(plain, mtime=0),
        "text.txt.bz2": bz2.compress(plain),
        "text.txt.xz": lzma.compress(plain),
        "text.jsonl": records.encode(),
        "text.jsonl.gz": gzip.compress(records.encode(), mtime=0),
        "text.csv": _separated(TEXT, ","),
        "text.tsv": _separated(TEXT, "\t"),
    }
    try:
        import zstandard

        found["text.txt.zst"] = zstandard.compress(plain)
    except ImportError:
        pass
    try:
        import pyarrow
        from pyarrow import parquet

        packed = io.BytesIO()
        parquet.write_table(pyarrow.table({"text": TEXT, "id": list(range(len(TEXT)))}), packed)
        found["text.parquet"] = packed.getvalue()
    except ImportError:
        pass
    return found


def _separated(lines: Iterable[str], separator: str) -> bytes:
    return "\n".join(
        ["id" + separator + "text", *(f'{n}{separator}"{line}"' for n, line in enumerate(lines))]
    ).encode()


ELMO = {
    "lstm": {
        "cell_clip": 3,
        "use_skip_connections": True,
        "n_layers": 2,
        "proj_clip": 3,
        "projection_dim": 4,
        "dim": 6,
    },
    "char_cnn": {
        "embedding": {"dim": 2},
        "filters": [[1, 2], [2, 3]],
        "n_highway": 1,
        "n_characters": 262,
        "max_characters_per_token": 50,
        "activation": "relu",
    },
}


def elmo(folder: Path) -> Path:
    """A tiny ELMo in its own files."""
    import h5py

    folder.mkdir()
    (folder / "options.json").write_text(json.dumps(ELMO))
    shapes = {
        "char_embed": (261, 2),
        "CNN/W_cnn_0": (1, 1, 2, 2),
        "CNN/b_cnn_0": (2,),
        "CNN/W_cnn_1": (1, 2, 2, 3),
        "CNN/b_cnn_1": (3,),
        "CNN_high_0/W_carry": (5, 5),
        "CNN_high_0/b_carry": (5,),
        "CNN_high_0/W_transform": (5, 5),
        "CNN_high_0/b_transform": (5,),
        "CNN_proj/W_proj": (5, 4),
        "CNN_proj/b_proj": (4,),
    }
    for side in (0, 1):
        for layer in (0, 1):
            cell = f"RNN_{side}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes |= {f"{cell}/W_0": (8, 24), f"{cell}/B": (24,), f"{cell}/W_P_0": (6, 4)}
    chance = np.random.default_rng(3)
    with h5py.File(folder / "lm_weights.hdf5", "w") as file:
        for name, shape in shapes.items():
            file[name] = chance.standard_normal(shape).astype(np.float32)
    return folder


SIZES = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12}
T5 = {"model_type": "t5", "d_model": 8, "d_kv": 4, "d_ff": 12, "num_layers": 1, "num_heads": 2}
MARIAN = {"model_type": "marian", "d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "pad_token_id": 2}
MARIAN |= {
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 8,
    "decoder_ffn_dim": 8,
}
MODELS: dict[str, dict[str, Any]] = {
    "bert": {"model_type": "bert", "max_position_embeddings": 64, **SIZES},
    "roberta": {"model_type": "roberta", "max_position_embeddings": 64, **SIZES},
    "camembert": {"model_type": "camembert", "max_position_embeddings": 64, **SIZES},
    "xlm-roberta": {"model_type": "xlm-roberta", "max_position_embeddings": 64, **SIZES},
    "mpnet": {"model_type": "mpnet", "max_position_embeddings": 64, **SIZES},
    "ernie": {"model_type": "ernie", "max_position_embeddings": 64, **SIZES},
    "electra": {"model_type": "electra", "embedding_size": 4, "max_position_embeddings": 64, **SIZES},
    "distilbert": {"model_type": "distilbert", "dim": 8, "n_layers": 1, "n_heads": 2, "hidden_dim": 12},
    "modernbert": {"model_type": "modernbert", "local_attention": 4, **SIZES, "num_hidden_layers": 2},
    "nomic_bert": {"model_type": "nomic_bert", "n_embd": 8, "n_layer": 1, "n_head": 2, "n_inner": 12},
    "gpt2": {"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 64},
    "llama": {"model_type": "llama", **SIZES},
    "qwen2": {"model_type": "qwen2", "num_key_value_heads": 1, **SIZES},
    "qwen3": {"model_type": "qwen3", "num_key_value_heads": 1, "head_dim": 4, **SIZES},
    "mistral": {"model_type": "mistral", "num_key_value_heads": 1, "sliding_window": 3, **SIZES},
    "gemma3_text": {"model_type": "gemma3_text", "num_key_value_heads": 1, "head_dim": 4, **SIZES},
    "t5": T5,
    "mt5": {**T5, "model_type": "mt5"},
    "marian": MARIAN,
}
OWN = {"kind": "decoder", "dim": 8, "attention.heads": 2, "positions.kind": "alibi", "norm.kind": "rms"}


GENERATION = {
    "max_length": 24,
    "min_length": 1,
    "num_beams": 2,
    "length_penalty": 1.5,
    "eos_token_id": [3, 4],
    "pad_token_id": 0,
    "bos_token_id": 2,
    "decoder_start_token_id": 2,
    "bad_words_ids": [[5], [6, 7]],
    "suppress_tokens": [8],
    "forced_eos_token_id": 3,
    "no_repeat_ngram_size": 2,
    "repetition_penalty": 1.2,
    "do_sample": False,
    "temperature": 0.7,
    "top_k": 5,
    "top_p": 0.9,
}
"""A generation_config.json with every kind of key that is read."""
MODULES = [
    {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
    for n, (path, kind) in enumerate(
        [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Normalize", "Normalize")]
    )
]
SENTENCE_FILES: dict[str, Any] = {
    "1_Pooling/config.json": {
        "word_embedding_dimension": 8,
        "pooling_mode_cls_token": True,
        "pooling_mode_mean_tokens": True,
        "include_prompt": False,
    },
    "2_Dense/config.json": {
        "in_features": 16,
        "out_features": 3,
        "bias": True,
        "activation_function": "torch.nn.modules.activation.Tanh",
    },
    "sentence_bert_config.json": {"max_seq_length": 20, "do_lower_case": False},
    "config_sentence_transformers.json": {
        "prompts": {"query": "the query ", "passage": ""},
        "default_prompt_name": "query",
        "similarity_fn_name": "cosine",
    },
}
GENERATING = ("gpt2", "t5", "marian")


def model(folder: Path, family: str) -> Path:
    """A tiny random model of a family with its tokenizer, as `save_model` writes it; of a few families with
    settings for generating."""
    import torch

    from inlaid.neural.checkpoint import save_model
    from inlaid.neural.config import make_config
    from inlaid.neural.families import read_config
    from inlaid.neural.model import Model
    from inlaid.neural.network import make_network

    torch.manual_seed(1)
    chosen = tokenizer("wordpiece", 90) if family == "bert" else tokenizer("bpe", 300)
    size = 90 if family == "bert" else 300
    if family == "inlaid":
        config = make_config({**OWN, "vocab_size": size})
    else:
        config = read_config({**MODELS[family], "vocab_size": size})
    save_model(Model(make_network(config), chosen.engine), folder)
    if family == "marian":
        _marian_tokenizer(folder, size)
    if family in GENERATING:
        (folder / "generation_config.json").write_text(json.dumps(GENERATION))
    return folder


def sentence_model(folder: Path, family: str) -> Path:
    """A model in a folder of sentence-transformers: a network, poolings, a dense layer, and prompts."""
    from safetensors.numpy import save

    model(folder, family)
    (folder / "modules.json").write_text(json.dumps(MODULES))
    for name, content in SENTENCE_FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    chance = np.random.default_rng(4)
    layer = {
        "linear.weight": chance.standard_normal((3, 16)).astype(np.float32),
        "linear.bias": np.ones(3, np.float32),
    }
    (folder / "2_Dense" / "model.safetensors").write_bytes(save(layer))
    return folder


def _marian_tokenizer(folder: Path, size: int) -> None:
    import sentencepiece as library

    (folder / "tokenizer.json").unlink()
    pieces = sentencepiece("unigram")
    (folder / "source.spm").write_bytes(pieces)
    (folder / "target.spm").write_bytes(pieces)
    processor = library.SentencePieceProcessor(model_proto=pieces)
    words = ["<unk>", "</s>", "<pad>"]
    words += [
        piece for n in range(processor.vocab_size()) if (piece := processor.id_to_piece(n)) not in words
    ]
    vocabulary = {word: id for id, word in enumerate(words[:size])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), "utf-8")


def pytorch(folder: Path) -> Path:
    """A folder of vectors whose weights are a file of torch.save."""
    import torch

    value = vectors()
    saved(folder, "static-embedding", value)
    (folder / "model.safetensors").unlink()
    tensors = {"embedding.weight": torch.tensor(np.concatenate([value.table, np.zeros((1, 6), np.float32)]))}
    tensors |= {"bias": torch.arange(6, dtype=torch.float64), "steps": torch.tensor(7)}
    torch.save(tensors, folder / "pytorch_model.bin")
    return folder


def sharded(folder: Path) -> Path:
    """A folder of vectors whose weights are in two files with an index."""
    from safetensors.numpy import load, save

    saved(folder, "static-embedding", vectors())
    weights = load((folder / "model.safetensors").read_bytes())
    (folder / "model.safetensors").unlink()
    parts = {"one.safetensors": weights, "two.safetensors": {"other.weight": np.ones((3, 2), np.float32)}}
    for name, content in parts.items():
        (folder / name).write_bytes(save(content, {"format": "pt"}))
    places = {tensor: name for name, content in parts.items() for tensor in content}
    index = {"metadata": {"total_size": 700}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder
