"""START HERE: the whole way from text to vectors.

    text --encode--> Corpus --method.start--> Training --run--> Vectors --format.write--> file

`collect` and `encode` turn text into a Corpus of ids; a method from `fit`, chosen by name, turns the corpus
into Vectors; `formats` keep them; `study` asks them questions.
"""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any, cast

from inlaid import registry
from inlaid.collect import world
from inlaid.collect.compression import DECOMPRESSORS
from inlaid.collect.normalize import normalizer, origins
from inlaid.collect.sources import Text
from inlaid.config import settings_of, unknown_setting
from inlaid.encode.corpus import Corpus, Encoding, encode, is_corpus, open_corpus
from inlaid.encode.tokenizers import HasIds, Tokenized
from inlaid.errors import FormatError, SettingError, SourceError
from inlaid.formats import native
from inlaid.formats.native import Dtype
from inlaid.formats.reading import Reading, Start, convert_command
from inlaid.jobs import planning
from inlaid.jobs.init_from import InitFrom
from inlaid.jobs.job import Job
from inlaid.jobs.plan import Plan
from inlaid.jobs.safety import Safety
from inlaid.jobs.training import Method
from inlaid.messages import Message
from inlaid.report import Note, Report, log
from inlaid.study.search.packing import loss_of_packing
from inlaid.vectors import Vectors


def train(
    text: Text | Corpus,
    method: str | Method = "ppmi",
    *,
    encoding: Encoding | None = None,
    safety: Safety | None = None,
    init_from: Vectors | None = None,
    freeze: bool = False,
    report: Report = log,
    **settings: Any,
) -> Vectors:
    """Learn vectors from text, or from a corpus encoded earlier, with a method and its settings.

    The method is a name with settings beside it, or a settings object. `safety` is how a long run is kept
    safe: checkpoints, early stopping, a limit of time. `init_from` are earlier vectors to continue from:
    their words keep their ids, new words follow; with `freeze` the earlier vectors do not change.

    >>> vectors = train("text.txt", "ppmi", window=3, min_count=2)
    >>> vectors = train("text.txt", SGNS(dim=300), min_count=2)
    """
    job, encoding = _job(text, method, encoding, safety, init_from, freeze, settings)
    job.check()
    planning.announce(text, job.method, encoding, report)
    encoded = text if isinstance(text, Corpus) else corpus(text, encoding=encoding, report=report)
    return job.train(encoded, report)


def plan(
    text: Text | Corpus, method: str | Method = "ppmi", *, encoding: Encoding | None = None, **settings: Any
) -> Plan:
    """The time and memory of `train` with the same arguments, from a trial on a sample of the text."""
    job, encoding = _job(text, method, encoding, None, None, False, settings)
    return planning.plan(text, job.method, encoding)


def _job(
    text: Text | Corpus,
    method: str | Method,
    encoding: Encoding | None,
    safety: Safety | None,
    init_from: Vectors | None,
    freeze: bool,
    settings: dict[str, Any],
) -> tuple[Job, Encoding | None]:
    """The job that these arguments of `train` describe, and how its text is encoded; each is made once."""
    if freeze and init_from is None:
        raise SettingError(
            "freeze is set, but there are no earlier vectors to keep fixed. Name them with init_from."
        )
    if isinstance(method, type):
        method = cast("Method", method())
    if isinstance(method, str):
        name = registry.entry("method", method).name
        of_method, of_encoding = split_settings(settings, registry.find("method", method))
        chosen = method_of(method, of_method)
    else:
        name = registry.name_of("method", type(method))
        of_method, of_encoding = split_settings(settings, type(method))
        chosen = dataclasses.replace(cast("Any", method), **of_method)
    if of_encoding:
        encoding = _merged(encoding, of_encoding)
    if isinstance(text, Corpus) and encoding is not None:
        raise SettingError(
            "{names} are settings of the encoding, and this corpus is already encoded. Leave them out.",
            names=", ".join(of_encoding) or "encoding",
        )
    earlier = None if init_from is None else InitFrom(init_from, freeze)
    return Job(name=name, method=chosen, safety=safety or Safety(), init_from=earlier), encoding


def _merged(encoding: Encoding | None, settings: dict[str, Any]) -> Encoding:
    """The encoding with some settings changed; the defaults where there is none."""
    if encoding is None:
        return settings_of(Encoding, settings)
    fields = {field.name: getattr(encoding, field.name) for field in dataclasses.fields(encoding)}
    return settings_of(Encoding, {**fields, **settings})


def method_of(name: str, settings: dict[str, Any]) -> Any:
    """The settings object of a method by its name; an alias such as `cbow` adds the settings it implies."""
    entry = registry.entry("method", name)
    preset = registry.accepted("method", name, entry.name) or {}
    method = settings_of(entry.load(), {**preset, **settings})
    check_alias(name, method)
    return method


def check_alias(name: str, method: Any) -> None:
    """Raise SettingError where settings contradict the name that was chosen, as `cbow` with skip-gram."""
    entry = registry.entry("method", name)
    preset = registry.accepted("method", name, entry.name) or {}
    for setting, value in preset.items():
        if getattr(method, setting) != value:
            raise SettingError(
                "{name} means {method} with {setting} {value}, but {setting} is {given}. Use "
                "`{method}`, or leave out {setting}.",
                name=name,
                method=entry.name,
                setting=setting,
                value=value,
                given=getattr(method, setting),
            )


def corpus(
    text: Text,
    out: str | Path | None = None,
    *,
    encoding: Encoding | None = None,
    workers: int | None = None,
    report: Report = log,
    **settings: Any,
) -> Corpus:
    """Encode text once, for all methods; with `out`, into a folder. The path of such a folder opens it."""
    if isinstance(text, (str, Path)) and is_corpus(Path(text)):
        if settings or out or encoding is not None:
            raise SettingError(
                "{text} is already a corpus: it takes no settings of the encoding and is not written again.",
                text=text,
            )
        return open_corpus(Path(text))
    chosen = _merged(encoding, settings)
    target = Path(out) if out is not None else None
    return encode(text, chosen, report, workers=workers, out=target)


def tokenize(text: str, **settings: Any) -> Tokenized:
    """Normalize and tokenize one text as a corpus with these settings would, with the position of each token.

    >>> [token.text for token in tokenize("我喜欢Apple手机").tokens]
    ['我', '喜欢', 'apple', '手机']
    """
    encoding = settings_of(Encoding, settings)
    refuse_surrogates(text)
    normalized = normalizer(encoding.steps)(text)
    places = origins(text, encoding.steps)
    tokenizer = encoding.make_tokenizer()
    tokens = tokenizer.tokenize(normalized)
    original = None if places is None else [(places[token.start], places[token.end]) for token in tokens]
    return Tokenized(
        normalized, tokens, original, tokenizer.ids(normalized) if isinstance(tokenizer, HasIds) else None
    )


def refuse_surrogates(text: str) -> None:
    """Raise SourceError for what is no text: a terminal without UTF-8 passes bytes on as lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SourceError(
            "Character {place:,} of the text is {found!a}, not a character. In a terminal, use UTF-8: "
            "`export LC_ALL=C.UTF-8`.",
            place=error.start + 1,
            found=text[error.start],
        ) from None


def phrases(
    text: Corpus | str | Path, out: str | Path | None = None, *, report: Report = log, **settings: Any
) -> Corpus:
    """A corpus whose collocations are joined into one word ("new york" becomes "new_york"); with `out`, into
    a folder."""
    from inlaid.encode.phrases import Phrases, join  # it imports the kernels

    chosen = settings_of(Phrases, settings)
    joined = join(text if isinstance(text, Corpus) else open_corpus(Path(text)), chosen, report)
    if out is not None:
        joined.save(Path(out))
    return joined


def load(path: str | Path, *, format: str | None = None, report: Report = log, **reading: Any) -> Vectors:
    """Read vectors from a file or folder; the format is recognized by the content unless it is named.

    >>> vectors = load("glove.6B.300d.txt.gz", top=100_000)
    """
    path = Path(path)
    chosen = settings_of(Reading, reading)
    if not path.exists():
        raise SourceError("There is no file '{path}'.", path=path)
    if format is not None:
        return registry.find("format", format).read(path, chosen, report)
    return _recognized(path).load().read(path, chosen, report)


def _recognized(path: Path) -> registry.Entry:
    """The format of a file or folder, by its content."""
    if path.is_file() and path.stat().st_size == 0:
        raise FormatError("{path} is empty; expected vectors. Get the file again.", path=path)
    start = Start.of(path)
    for entry in registry.entries("format"):
        if entry.load().recognizes(start):
            return entry
    if is_corpus(path):
        raise FormatError(
            "{path} is a corpus; expected vectors. Train on it: "
            "`inlaid train sgns {quoted} -o vectors.inlaid`.",
            path=path,
            quoted=shlex.quote(str(path)),
        )
    raise FormatError(
        "{path}: not recognized as any of the formats that Inlaid reads: {formats}. If it is one of them, "
        "name it: {command}.",
        path=path,
        formats=_format_names(),
        command=convert_command(path, "source-format", "FORMAT"),
    )


def save(
    vectors: Vectors,
    path: str | Path,
    *,
    format: str | None = None,
    dtype: Dtype = "float32",
    report: Report = log,
) -> None:
    """Write vectors in the format that is named, or that the suffix of `path` means. An existing file is
    replaced as a whole or not at all.

    Inlaid's own format can store float16 or int8, in half or a quarter of the space; what that costs is
    measured and reported.
    """
    path = Path(path)
    name = format or format_for(path)
    if name == "native":
        native.write(vectors, path, report, dtype=dtype)
        if dtype != "float32":
            report(loss_of_packing(vectors, native.read(path)).note())
        return
    if dtype != "float32":
        raise SettingError(
            "dtype is {dtype}, which only Inlaid's own format can store; {format} stores float32. "
            "Leave it out, or write {stem}.inlaid.",
            dtype=dtype,
            format=name,
            stem=path.stem,
        )
    registry.find("format", name).write(vectors, path, report)
    lost = _lost(vectors, name)
    if lost:
        report(
            Note(
                "{path}: the format {format} cannot store these parts of the vectors: {parts}. They were "
                "left out.",
                path=path,
                format=name,
                parts=", ".join(lost),
            )
        )


def _lost(vectors: Vectors, format: str) -> list[str]:
    """The parts of vectors that a format of another tool cannot store."""
    if format == "fasttext":
        return []
    parts = {"contexts": vectors.contexts, "n-grams": vectors.subwords}
    if format not in ("npz", "parquet", "projector"):
        parts["counts"] = vectors.counts
    return [name for name, part in parts.items() if part is not None]


def convert(
    source: str | Path,
    target: str | Path,
    *,
    source_format: str | None = None,
    format: str | None = None,
    dtype: Dtype = "float32",
    report: Report = log,
    **reading: Any,
) -> Vectors:
    """Read vectors from one file and write them to another. `format` is that of the target; `source_format`
    need only be named where the content of the source does not show it."""
    name = format or format_for(Path(target), Path(source))  # before a long read, not after it
    vectors = load(source, format=source_format, report=report, **reading)
    save(vectors, target, format=name, dtype=dtype, report=report)
    return vectors


def format_for(path: Path, source: Path | None = None) -> str:
    """The format that the suffix of a file means. `source` is the file that is converted, if there is one."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in DECOMPRESSORS][-1:]
    entries = registry.entries("format")
    meant = [entry.name for entry in entries if set(suffixes) & set(entry.load().SUFFIXES)]
    if len(meant) == 1:
        return meant[0]
    command = Message(
        "`inlaid convert {source} {target} --format {format}` (in Python: save(..., format={format!r}))",
        source=shlex.quote(str(source or path.with_name(f"{path.name.partition('.')[0]}.inlaid"))),
        target=shlex.quote(str(path)),
        format=meant[0] if meant else "FORMAT",
    )
    if not meant and source is None:
        raise SettingError(
            "{path}: no format has this suffix; the formats are: {formats}. "
            "Write an .inlaid file, then name the format: {command}.",
            path=path,
            formats=_format_names(),
            command=command,
        )
    if not meant:
        raise SettingError(
            "{path}: no format has this suffix; the formats are: {formats}. "
            "Name one, or use the suffix .inlaid: {command}.",
            path=path,
            formats=_format_names(),
            command=command,
        )
    if source is None:
        raise SettingError(
            "{path}: files of {formats} end in {suffix}. Write an .inlaid file, then name the format: "
            "{command}.",
            path=path,
            formats=", ".join(meant),
            suffix=suffixes[0],
            command=command,
        )
    raise SettingError(
        "{path}: files of {formats} end in {suffix}. Name one of them: {command}.",
        path=path,
        formats=", ".join(meant),
        suffix=suffixes[0],
        command=command,
    )


def _format_names() -> str:
    return ", ".join(entry.name for entry in registry.entries("format"))


def demo(*, words: int = 300_000, seed: int = 1, report: Report = log) -> dict[world.Language, Vectors]:
    """Vectors of the embedded world, one space for each language."""
    return {
        "zh": train(
            world.sentences("zh", words=words, seed=seed),
            "ppmi",
            dictionary=world.dictionary(),
            seed=seed,
            report=report,
        ),
        "en": train(world.sentences("en", words=words, seed=seed), "ppmi", seed=seed, report=report),
    }


def info(path: str | Path) -> dict[str, Any]:
    """What a file of vectors or a corpus contains, and how it was made."""
    if is_corpus(Path(path)):
        return {"kind": "corpus", **open_corpus(Path(path)).manifest}
    vectors = load(path)
    return {
        "kind": "vectors",
        "words": len(vectors),
        "dim": vectors.dim,
        "card": dataclasses.asdict(vectors.card),
    }


def verify(path: str | Path) -> int:
    """Read every byte of a native file or a corpus and compare checksums; the number of bytes read."""
    path = Path(path)
    if not path.exists():
        raise SourceError("There is no file '{path}'. Check the path.", path=path)
    if is_corpus(path):
        corpus = open_corpus(path)
        return 0 if corpus.opened is None else corpus.opened.verify()
    found = _recognized(path)
    if found.name != "native":
        raise FormatError(
            "{path} is in the format {format}, which has no checksums. `inlaid convert` writes an "
            ".inlaid file that has them.",
            path=path,
            format=found.name,
        )
    return native.verify(path)


def split_settings(settings: dict[str, Any], kind: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of the method, and settings of the encoding; no name belongs to both."""
    of_method = {field.name for field in dataclasses.fields(kind)}
    of_encoding = {field.name for field in dataclasses.fields(Encoding)}
    for name in settings:
        if name not in of_method | of_encoding:
            raise unknown_setting(name, of_method | of_encoding)
    return (
        {name: value for name, value in settings.items() if name in of_method},
        {name: value for name, value in settings.items() if name in of_encoding},
    )
