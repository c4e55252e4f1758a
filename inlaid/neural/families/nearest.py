"""Nearest: model types that are not built -> a family that is, and a model of it for the same work."""

from __future__ import annotations

from typing import NamedTuple


class Nearest(NamedTuple):
    """A model type that works, and a well-known model of it."""

    model_type: str
    model: str


ENGLISH = Nearest("mpnet", "sentence-transformers/all-mpnet-base-v2")
LONG = Nearest("modernbert", "Alibaba-NLP/gte-modernbert-base")
MULTILINGUAL = Nearest("xlm-roberta", "BAAI/bge-m3")
CAUSAL = Nearest("qwen3", "Qwen/Qwen3-Embedding-0.6B")
GEMMA = Nearest("gemma3_text", "google/embeddinggemma-300m")
TRANSLATION = Nearest("marian", "Helsinki-NLP/opus-mt-zh-en")

NEAREST = {
    "albert": ENGLISH,
    "bart": Nearest("t5", "google-t5/t5-small"),
    "big_bird": LONG,
    "bloom": CAUSAL,
    "convbert": ENGLISH,
    "data2vec-text": ENGLISH,
    "deberta": LONG,
    "deberta-v2": LONG,
    "esm": ENGLISH,
    "eurobert": MULTILINGUAL,
    "falcon": CAUSAL,
    "flaubert": Nearest("camembert", "almanach/camembert-base"),
    "funnel": ENGLISH,
    "gemma": GEMMA,
    "gemma2": GEMMA,
    "gemma3": GEMMA,
    "gpt_neo": CAUSAL,
    "gpt_neox": CAUSAL,
    "gte": MULTILINGUAL,
    "ibert": ENGLISH,
    "longformer": LONG,
    "m2m_100": TRANSLATION,
    "mbart": TRANSLATION,
    "megatron-bert": ENGLISH,
    "ministral": Nearest("mistral", "intfloat/e5-mistral-7b-instruct"),
    "mixtral": Nearest("mistral", "intfloat/e5-mistral-7b-instruct"),
    "mobilebert": ENGLISH,
    "new": MULTILINGUAL,
    "nezha": Nearest("ernie", "nghuyong/ernie-3.0-base-zh"),
    "opt": CAUSAL,
    "phi": CAUSAL,
    "phi3": CAUSAL,
    "qwen2_moe": CAUSAL,
    "qwen3_moe": CAUSAL,
    "roberta-prelayernorm": ENGLISH,
    "roformer": Nearest("ernie", "nghuyong/ernie-3.0-base-zh"),
    "squeezebert": ENGLISH,
    "umt5": Nearest("mt5", "google/mt5-small"),
    "xlm": MULTILINGUAL,
    "xlm-roberta-xl": MULTILINGUAL,
    "xlnet": ENGLISH,
}
