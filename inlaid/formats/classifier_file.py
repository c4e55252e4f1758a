"""Classifiers on disk: one safetensors file, checksummed; nothing in it is ever unpickled.

The table is float32, float16 (half the size) or int8 with a scale for each row (a quarter). A classifier over
the vectors of a model keeps the path of its folder, not the model.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from inlaid import array_writer, arrays
from inlaid.classifier import BagEmbedder, Classifier, ModelFolder
from inlaid.encode.corpus import refuse_misfit
from inlaid.encode.vocabulary import pack_words, unpack_words
from inlaid.errors import FormatError
from inlaid.feed.bags import Bags, BagSettings
from inlaid.formats.cards import read_card
from inlaid.messages import Listed
from inlaid.report import Report, silent
from inlaid.untrusted import parse_json_part
from inlaid.values import Values
from inlaid.vectors import Int8Table

VERSION = 1
PART = "classifier"
"""The metadata that makes a safetensors file a classifier."""
MAX_SCALE = float(np.finfo(np.float32).max) / 128
LARGEST = 1e6
"""The largest number of a table or layer; with larger ones a score could be infinite."""
SETTINGS = {"word_ngrams": (1, 10), "min_n": (0, 100), "max_n": (0, 100), "buckets": (1, 1 << 30)}
"""The smallest and the largest value of each setting of the features; anything beyond is damage."""


def write(classifier: Classifier, path: Path) -> None:
    """Write a classifier; the file is replaced as a whole or not at all."""
    content: dict[str, Any] = {"output": classifier.output, "bias": classifier.bias}
    about: dict[str, Any] = {"version": VERSION, "labels": list(classifier.labels)}
    embedder = classifier.embedder
    if isinstance(embedder, BagEmbedder):
        content |= pack_words(embedder.bags.words) | _stored(embedder.table)
        about["bags"] = asdict(embedder.bags.settings)
        about["encoding"] = dict(embedder.bags.encoding)
        if embedder.bags.kept is not None:
            content["kept"] = embedder.bags.kept
        if embedder.bags.tokenizer_json is not None:
            content["tokenizer"] = np.frombuffer(embedder.bags.tokenizer_json.encode(), np.uint8)
    else:
        about["model"] = str(getattr(embedder, "path", ""))
    metadata = {
        PART: json.dumps(about, ensure_ascii=False),
        "made": json.dumps(asdict(classifier.card), ensure_ascii=False),
    }
    array_writer.write(path, content, metadata)


def _stored(table: np.ndarray | Int8Table) -> dict[str, np.ndarray]:
    if isinstance(table, Int8Table):
        return {"table": table.codes, "table.scales": table.scales}
    return {"table": table}


def is_classifier(path: Path) -> bool:
    """Whether a file says that it is a classifier; it is not verified."""
    try:
        return path.is_file() and PART in arrays.open_arrays(path).metadata
    except (FormatError, OSError):
        return False


def read(path: Path, report: Report = silent) -> Classifier:
    """Read a classifier; every byte is verified."""
    opened = arrays.open_arrays(path)
    if PART not in opened.metadata:
        raise FormatError(
            "{path}: not a classifier. `inlaid classify train` makes one; a file of vectors is not one.",
            path=path,
        )
    about = parse_json_part(path, PART, opened.metadata[PART])
    refuse_misfit(path, PART, about, {"version": 0, "labels": [""]})
    _check_version(path, about["version"])
    labels = tuple(about["labels"])
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise FormatError(
            "{path}: expected two or more different labels, found {labels}. Restore the file from a copy.",
            path=path,
            labels=Listed(labels[:5]),
        )
    numbers = {"finite": True, "low": -LARGEST, "high": LARGEST}
    opened.expect("output", Values(dtypes=("F32",), shape=(len(labels), None), **numbers))
    opened.expect("bias", Values(dtypes=("F32",), shape=(len(labels),), **numbers))
    opened.verify()
    embedder = ModelFolder(Path(about["model"])) if "model" in about else _read_bags(opened, about)
    output = opened.in_memory("output")
    made = opened.metadata.get("made", "{}")
    if isinstance(embedder, BagEmbedder) and embedder.table.shape[1] != output.shape[1]:
        raise FormatError(
            "{path}: its table has {found} components and its output layer {expected}. Restore the file from "
            "a copy.",
            path=path,
            found=embedder.table.shape[1],
            expected=output.shape[1],
        )
    return Classifier(labels, embedder, output, opened.in_memory("bias"), read_card(path, made, report))


def _check_version(path: Path, version: int) -> None:
    if version > VERSION:
        raise FormatError(
            "{path}: written by a newer version of Inlaid (format {found}; this one reads {known}). Update "
            "Inlaid.",
            path=path,
            found=version,
            known=VERSION,
        )


def _read_bags(opened: arrays.Arrays, about: dict[str, Any]) -> BagEmbedder:
    refuse_misfit(opened.path, PART, about, {"bags": dict.fromkeys(SETTINGS, 0), "encoding": {}})
    settings = BagSettings(**{name: about["bags"][name] for name in SETTINGS})
    for name, (least, most) in SETTINGS.items():
        if not least <= getattr(settings, name) <= most:
            raise FormatError(
                "{path}: {name} is {found}; expected a number from {least} to {most:,}. Restore the file "
                "from a copy.",
                path=opened.path,
                name=name,
                found=getattr(settings, name),
                least=least,
                most=most,
            )
    words = unpack_words(opened)
    kept = None
    if "kept" in opened:
        bounds = Values(
            dtypes=("I32",), shape=(None,), low=0, high=settings.buckets - 1, ascending=True, distinct=True
        )
        opened.expect("kept", bounds)
        kept = opened.in_memory("kept")
    tokenizer = None
    if "tokenizer" in opened:
        opened.expect("tokenizer", Values(dtypes=("U8",), shape=(None,)))
        tokenizer = opened.in_memory("tokenizer").tobytes().decode("utf-8", "replace")
    bags = Bags(
        words=words, encoding=about["encoding"], settings=settings, kept=kept, tokenizer_json=tokenizer
    )
    return BagEmbedder(bags, _read_table(opened, bags.size))


def _read_table(opened: arrays.Arrays, rows: int) -> np.ndarray | Int8Table:
    if "table.scales" not in opened:
        numbers = {"finite": True, "low": -LARGEST, "high": LARGEST}
        opened.expect("table", Values(dtypes=("F32", "F16"), shape=(rows, None), **numbers))
        return opened.in_memory("table").astype(np.float32, copy=False)
    opened.expect("table", Values(dtypes=("I8",), shape=(rows, None)))
    opened.expect("table.scales", Values(dtypes=("F32",), shape=(rows,), low=0, high=MAX_SCALE))
    return Int8Table(opened.in_memory("table"), opened.in_memory("table.scales"))
