"""Vectors on disk: read, written and converted in any format; what a file contains, and whether it is intact.

The format is chosen here, by the content of a file that is read and by the suffix of one that is written;
`formats/` has one file for each.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from inlaid import files, places, registry
from inlaid.card import brief
from inlaid.collect.archives import file_of
from inlaid.collect.compression import compression_of
from inlaid.collect.decompressors import DECOMPRESSORS
from inlaid.config import settings_of
from inlaid.encode.corpus import is_corpus, open_corpus
from inlaid.errors import FormatError, SettingError, SourceError
from inlaid.formats import native
from inlaid.formats.cards import read_card
from inlaid.formats.folder import CARD
from inlaid.formats.native import Dtype
from inlaid.formats.reading import Format, Part, Reading, check_compression
from inlaid.formats.recognition import format_names, recognized
from inlaid.messages import Advice, Listed, Message
from inlaid.neural.families import family_of
from inlaid.neural.kinds import is_model_folder
from inlaid.neural.sizes import parameters
from inlaid.progress import shows_progress
from inlaid.report import Note, Report, automatic, silent
from inlaid.study.search.packing import loss_of_packing
from inlaid.untrusted import check_regular
from inlaid.vectors import Vectors


@shows_progress
def load(
    path: str | Path, *, format: str | None = None, report: Report = automatic, **reading: Any
) -> Vectors:
    """Read vectors from a file or folder; the format is recognized by the content unless it is named.

    >>> vectors = load("glove.6B.300d.txt.gz", top=100_000)
    """
    path = Path(path)
    check_regular(path, "vectors")
    chosen = settings_of(Reading, reading)
    if not file_of(path).exists():
        raise SourceError("There is no file '{path}'.", path=path)
    kind = recognized(path, chosen.recoded) if format is None else registry.entry("format", format)
    _refuse_packed(path, kind)
    return kind.load().read(path, chosen, report)


def _refuse_packed(path: Path, format: registry.Entry) -> None:
    """Raise FormatError for a compressed file or an archive of a format that is read in place."""
    if compression_of(path) and not getattr(format.load(), "COMPRESSIONS", ()):
        raise FormatError(
            "{path}: files of the format {format} are not read from a compressed file or an archive. Unpack "
            "it first.",
            path=path,
            format=format.name,
        )


@shows_progress
def save(
    vectors: Vectors,
    path: str | Path,
    *,
    format: str | None = None,
    dtype: Dtype = "float32",
    overwrite: bool = False,
    report: Report = automatic,
) -> None:
    """Write vectors in the format that is named, or that the suffix of `path` means.

    A native file that exists is replaced, as a whole or not at all; any other file only with `overwrite`, and
    a folder never. Inlaid's own format can store float16 or int8, in half or a quarter of the space; what
    that costs is measured and reported.
    """
    path = Path(path)
    target = output_format(path, format, dtype)
    places.check_replaceable(path, overwrite=overwrite)
    if target.name == "native":
        native.write(vectors, path, report, dtype=dtype)
        if dtype != "float32":
            report(loss_of_packing(vectors, native.read(path)).note())
        return
    kind: Format = target.load()
    kind.write(vectors, path, report)
    lost = _lost(vectors, kind.STORES)
    if lost:
        report(
            Note(
                "{path}: the format {format} cannot store these parts of the vectors: {parts}. They were "
                "left out.",
                path=path,
                format=target.name,
                parts=Listed(lost),
            )
        )


def _lost(vectors: Vectors, stores: tuple[Part, ...]) -> list[Part]:
    """The parts of vectors that a format does not store."""
    parts: dict[Part, object] = {
        "contexts": vectors.contexts,
        "n-grams": vectors.subwords,
        "counts": vectors.counts,
        "tokenizer": vectors.tokenizer_json,
    }
    return [name for name, part in parts.items() if part is not None and name not in stores]


@shows_progress
def convert(
    source: str | Path,
    target: str | Path,
    *,
    source_format: str | None = None,
    format: str | None = None,
    dtype: Dtype = "float32",
    overwrite: bool = False,
    report: Report = automatic,
    **reading: Any,
) -> Vectors:
    """Read vectors from one file and write them to another. `format` is that of the target; `source_format`
    need only be named where the content of the source does not show it."""
    path = Path(target)
    chosen = output_format(path, format, dtype)
    with places.claimed(path, models=[Path(source)], folder=is_folder_format(chosen), overwrite=overwrite):
        vectors = load(source, format=source_format, report=report, **reading)
        save(vectors, path, format=chosen.name, dtype=dtype, overwrite=overwrite, report=report)
    return vectors


def output_format(path: Path, format: str | None = None, dtype: Dtype = "float32") -> registry.Entry:
    """The format that `path` will be written in: the one that is named, or that its suffix means.

    Everything about the path that `save` would refuse is refused here, so that it can be asked before hours
    of work.
    """
    if format is None and path.is_dir():
        files.can_write(path)  # the error says that it is a folder, not that it has no suffix
    entry = registry.entry("format", format or _format_of(path))
    kind = entry.load()
    check_compression(path, getattr(kind, "COMPRESSIONS", ()))
    if hasattr(kind, "check_output"):
        kind.check_output(path)
    if dtype != "float32" and entry.name != "native":
        raise SettingError(
            "dtype is {dtype}, which only Inlaid's own format can store; {format} stores float32. "
            "Leave it out, or write {stem}.inlaid.",
            dtype=dtype,
            format=entry.name,
            stem=path.stem,
        )
    return entry


def is_folder_format(entry: registry.Entry) -> bool:
    return not entry.load().SUFFIXES


def _format_of(path: Path) -> str:
    """The format that the suffix of a file means."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in DECOMPRESSORS][-1:]
    entries = registry.entries("format")
    meant = [entry.name for entry in entries if set(suffixes) & set(entry.load().SUFFIXES)]
    if len(meant) == 1:
        return meant[0]
    if not meant:
        raise SettingError(
            "{path}: no format has this suffix. Use the suffix .inlaid, or name a format with {option}; the "
            "formats are: {formats}.",
            path=path,
            option=Advice(typed=Message("--format"), called=Message("format=")),
            formats=format_names(),
        )
    raise SettingError(
        "{path}: files of {formats} end in {suffix}. Name one of them: {option}.",
        path=path,
        formats=Listed(meant),
        suffix=suffixes[0],
        option=Advice(
            typed=Message("--format {format}", format=meant[0]),
            called=Message("format={format!r}", format=meant[0]),
        ),
    )


@shows_progress
def info(path: str | Path, *, report: Report = automatic, **reading: Any) -> dict[str, Any]:
    """What vectors, a classifier, a corpus or the folder of a model contain, and how they were made."""
    if is_corpus(Path(path)):
        manifest = dict(open_corpus(Path(path)).manifest)
        return {"kind": "corpus", **manifest, "encoding": brief(manifest["encoding"])}
    from inlaid.formats import classifier_file  # it imports the kernels

    if classifier_file.is_classifier(Path(path)):
        return _classifier_info(classifier_file.read(Path(path), report))
    as_vectors = settings_of(Reading, reading) != Reading()
    if not as_vectors and is_model_folder(Path(path)):
        return _model_info(Path(path))
    vectors = load(path, report=report, **reading)
    return {
        "kind": "vectors",
        "words": len(vectors),
        "dim": vectors.dim,
        "card": dataclasses.asdict(dataclasses.replace(vectors.card, encoding=brief(vectors.card.encoding))),
    }


def _classifier_info(classifier: Any) -> dict[str, Any]:
    card = dataclasses.replace(classifier.card, encoding=brief(classifier.card.encoding))
    return {
        "kind": "classifier",
        "labels": list(classifier.labels),
        "dim": classifier.dim,
        "card": dataclasses.asdict(card),
    }


def _model_info(path: Path) -> dict[str, Any]:
    """What a model is, from its config and its card; its weights are not read."""
    family = family_of(path)
    config = family.read_folder(path)
    card = path / CARD
    return {
        "kind": "model",
        "family": family.model_type,
        "network": config.kind,
        "parameters": sum(parameters(config).values()),
        "words": config.vocab_size,
        "dim": config.dim,
        "layers": config.layers,
        "card": dataclasses.asdict(read_card(card, card.read_bytes(), silent)) if card.is_file() else None,
    }


def verify(path: str | Path) -> int:
    """Read every byte of a native file or a corpus and compare checksums; the number of bytes read."""
    path = Path(path)
    check_regular(path, "vectors")
    if not path.exists():
        raise SourceError("There is no file '{path}'. Check the path.", path=path)
    if is_corpus(path):
        return sum(each.verify() for each in open_corpus(path).files())
    if is_model_folder(path):
        raise FormatError(
            "{path} is the folder of a model, whose files have no checksums. `inlaid inspect` reads its "
            "weights.",
            path=path,
        )
    found = recognized(path)
    if found.name != "native":
        raise FormatError(
            "{path} is in the format {format}, which has no checksums. `inlaid convert` writes an "
            ".inlaid file that has them.",
            path=path,
            format=found.name,
        )
    return native.verify(path)
