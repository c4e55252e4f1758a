"""START HERE: the whole way from text to vectors.

    text --encode--> Corpus --method.start--> Training --run--> Vectors --format.write--> file

`collect` and `encode` turn text into a Corpus of ids; a method from `fit`, chosen by name, turns the corpus
into Vectors; `formats` keep them; `study` asks them questions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from inlaid import places, registry
from inlaid.collect import world
from inlaid.collect.normalize import normalizer, original_span, origins
from inlaid.collect.sources import Text, places_of
from inlaid.config import changed_from_default, settings_of, unknown_setting, with_values
from inlaid.encode.corpus import Corpus, Encoding, encode, encoding_of, is_corpus, open_corpus
from inlaid.encode.dictionary import names_file, parts_of
from inlaid.encode.pair_corpus import check_complete
from inlaid.encode.tokenizers import HasIds, Tokenized
from inlaid.errors import SettingError, SourceError
from inlaid.formats.recognition import refuse_vectors
from inlaid.jobs.init_from import Continuing
from inlaid.jobs.job import Job
from inlaid.jobs.plan import Plan, announce_plan, plan_for
from inlaid.jobs.safety import Safety
from inlaid.jobs.training import EncodesPairs, Method, PreparesText, ReadsPairs
from inlaid.messages import Message
from inlaid.report import Report, log, silent
from inlaid.vectors import Vectors


def train(
    text: Text | Corpus,
    method: str | Method = "ppmi",
    *,
    encoding: Encoding | None = None,
    safety: Safety | None = None,
    init_from: Vectors | str | Path | None = None,
    freeze: bool = False,
    report: Report = log,
    **settings: Any,
) -> Any:
    """Learn vectors or a model from text, or from a corpus encoded earlier, with a method and its settings.

    The method is a name with settings beside it, or a settings object. `safety` is how a long run is kept
    safe: checkpoints, early stopping, a limit of time. `init_from` are earlier vectors to continue from:
    their words keep their ids, new words follow; with `freeze` the earlier vectors do not change. A network
    starts from the folder of a model, or its token vectors from a file of vectors.

    >>> vectors = train("text.txt", "ppmi", window=3, min_count=2)
    >>> vectors = train("text.txt", SGNS(dim=300), min_count=2)
    """
    job, encoding = _job(text, method, encoding, safety, init_from, freeze, settings)
    places.check_distinct({"checkpoint": job.safety.checkpoint}, places_read(text, encoding))
    job.check()
    text = as_sentences(text, job.method, encoding, report)
    announce_plan(text, job.method, encoding, report)
    encoded = _encoded(text, job.method, encoding, report)
    return job.learn_from(encoded, report)


def as_sentences(text: Any, method: Method, encoding: Encoding | None, report: Report) -> Any:
    """A text as its sentences where a method reads pairs; any other text as it is."""
    if not isinstance(method, ReadsPairs) or is_encoded(text):
        return text
    return method.sentences(text, encoding or Encoding(), report)


def _encoded(text: Any, method: Method, encoding: Encoding | None, report: Report) -> Corpus:
    """The corpus of a text, as a method needs it. The sentences of pairs are all still there."""
    if isinstance(method, EncodesPairs) and isinstance(text, list):
        encoded = method.encode_pairs(text, encoding or default_encoding(type(method)), report)
    else:
        encoded = text if isinstance(text, Corpus) else corpus(text, encoding=encoding, report=report)
    if isinstance(method, ReadsPairs):
        found = len(encoded.offsets) - 1
        check_complete(found, len(text) if isinstance(text, list) else 2 * (found // 2))
    return encoded


def places_read(text: Text | Corpus, encoding: Encoding | None) -> list[Path | None]:
    """The files and folders that encoding a text reads."""
    named = [] if isinstance(text, Corpus) else places_of(text)
    if encoding is None:
        return [*named]
    dictionaries = [Path(each) for each in parts_of(encoding.dictionary) if names_file(each)]
    return [*named, *dictionaries, encoding.tokenizer_file]


def plan(
    text: Text | Corpus, method: str | Method = "ppmi", *, encoding: Encoding | None = None, **settings: Any
) -> Plan:
    """The time and memory of `train` with the same arguments, from a trial on a sample of the text."""
    job, encoding = _job(text, method, encoding, None, None, False, settings)
    if not isinstance(text, Corpus):
        refuse_vectors(places_of(text))
    text = as_sentences(text, job.method, encoding, silent)
    return plan_for(text, job.method, encoding)


def _job(
    text: Text | Corpus,
    method: str | Method,
    encoding: Encoding | None,
    safety: Safety | None,
    init_from: Vectors | str | Path | None,
    freeze: bool,
    settings: dict[str, Any],
) -> tuple[Job, Encoding | None]:
    """The job that these arguments of `train` describe, and how its text is encoded; each is made once."""
    if isinstance(method, type):
        method = cast("Method", method())
    if isinstance(init_from, str | Path):
        settings = {**settings, "init_from": Path(init_from), "freeze": freeze}
        init_from = None
        freeze = False
    continuing = Continuing(init_from=init_from, freeze=freeze)
    if isinstance(method, str):
        name = registry.entry("method", method).name
        of_method, of_encoding = split_settings(settings, registry.find("method", method))
        chosen = method_of(method, of_method)
    else:
        name = registry.name_of("method", type(method))
        of_method, of_encoding = split_settings(settings, type(method))
        chosen = with_values(method, of_method)
    if of_encoding:
        encoding = with_values(encoding or default_encoding(type(chosen)), of_encoding)
    _check_not_encoded(text, encoding, of_encoding)
    if isinstance(chosen, PreparesText) and not is_encoded(text):
        encoding = chosen.prepared(encoding or default_encoding(type(chosen)))
    chosen = cast("Method", chosen)
    return Job(name=name, method=chosen, safety=safety or Safety(), continuing=continuing), encoding


def default_encoding(method: type) -> Encoding:
    """How text is encoded for a method unless something else is asked for."""
    return Encoding(**getattr(method, "encoding_defaults", {}))


def is_encoded(text: Text | Corpus) -> bool:
    """Whether a text is a corpus, or the folder of one."""
    return isinstance(text, Corpus) or (isinstance(text, (str, Path)) and is_corpus(Path(text)))


def _check_not_encoded(
    text: Text | Corpus, encoding: Encoding | None, settings: Mapping[str, Any], out: object = None
) -> None:
    """Raise SettingError, with the names of the settings, where a corpus is to be encoded once more."""
    if encoding is None and not settings and out is None:
        return
    if not is_encoded(text):
        return
    shown = Message("This text") if isinstance(text, Corpus) else text
    given = list(settings)
    if encoding is not None:
        given += [name for name in changed_from_default(encoding) if name not in settings]
    if out is not None and not given:
        raise SettingError("{text} is already a corpus. Copy the folder to have it twice.", text=shown)
    raise SettingError(
        "{text} is already a corpus, and its encoding cannot be changed: leave out {names}, or encode the "
        "text again.",
        text=shown,
        names=", ".join(given) or "encoding",
    )


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
    _check_not_encoded(text, encoding, settings, out)
    if isinstance(text, (str, Path)) and is_corpus(Path(text)):
        return open_corpus(Path(text))
    refuse_vectors(places_of(text))
    chosen = with_values(encoding or Encoding(), settings)
    if out is None:
        return encode(text, chosen, report, workers=workers)
    with places.claimed(Path(out), reads=places_read(text, chosen), folder=True):
        return encode(text, chosen, report, workers=workers, out=Path(out))


def tokenize(text: str, *, corpus: Corpus | None = None, **settings: Any) -> Tokenized:
    """Normalize and tokenize one text as a corpus with these settings would, or as `corpus` was encoded, with
    the position of each token.

    >>> [token.text for token in tokenize("我喜欢Apple手机").tokens]
    ['我', '喜欢', 'apple', '手机']
    """
    if corpus is not None and settings:
        raise SettingError(
            "{names} are settings of the encoding, and this corpus is already encoded. Leave them out.",
            names=", ".join(settings),
        )
    refuse_surrogates(text)
    encoding = settings_of(Encoding, settings) if corpus is None else encoding_of(corpus.manifest["encoding"])
    tokenizer = encoding.make_tokenizer() if corpus is None else corpus.tokenizer()
    normalized = normalizer(encoding.steps)(text)
    places = origins(text, encoding.steps)
    tokens = tokenizer.tokenize(normalized)
    ids = tokenizer.ids(normalized) if isinstance(tokenizer, HasIds) else None
    if corpus is not None and "phrases" in corpus.manifest:
        from inlaid.encode.phrases import join_tokens  # it imports the kernels

        tokens = join_tokens(tokens, corpus)
        ids = None
    original = None
    if places is not None:
        original = [original_span(places, token.start, token.end) for token in tokens]
    return Tokenized(normalized, tokens, original, ids)


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
    read = text if isinstance(text, Corpus) else open_corpus(Path(text))
    if out is None:
        return join(read, chosen, report)
    reads = [] if isinstance(text, Corpus) else [Path(text)]
    with places.claimed(Path(out), reads=reads, folder=True):
        joined = join(read, chosen, report)
        joined.save(Path(out))
    return joined


def demo(*, words: int = 300_000, seed: int = 1, report: Report = log) -> dict[world.Language, Vectors]:
    """Vectors of the embedded world, one space for each language."""
    return {
        "zh": train(
            world.sentences("zh", words=words, seed=seed),
            "ppmi",
            dim=150,  # the SVD drops relations of the world below
            dictionary=world.dictionary(),
            force_dictionary=True,
            seed=seed,
            report=report,
        ),
        "en": train(world.sentences("en", words=words, seed=seed), "ppmi", dim=150, seed=seed, report=report),
    }


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
