"""`inlaid classify`: train a classifier on labelled texts, predict labels, test it."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import Positional

from inlaid import registry
from inlaid.commands.examples import examples_text
from inlaid.commands.options import OVERWRITE_HELP, config_values, flagged, values_of_group
from inlaid.commands.parsing import later, parse
from inlaid.commands.results import print_next
from inlaid.commands.streams import print_json_line
from inlaid.commands.terminal import as_typed, listed, print_json, print_rows
from inlaid.errors import Diverged, SettingError, UnknownName
from inlaid.locks import short_name
from inlaid.messages import Message, speaking, translated
from inlaid.progress import drawn
from inlaid.registry import Entry
from inlaid.report import Note, Report

CHECKPOINT = ".checkpoint"
PARTIAL = ".partial"
"""Suffixes of the checkpoint, and of the classifier of an unfinished run, beside the output."""
TRAIN_HELP = "files of labelled texts: lines `__label__NAME text`, or csv, tsv, jsonl, parquet"


def classify_command(words: list[str]) -> None:
    """Train a classifier on labelled texts, predict labels, test it."""
    name = words[0] if words else "--help"
    if name in ("-h", "--help"):
        print(Message("usage: {usage}", usage="inlaid classify train|predict|test ...\n"))
        print(
            listed({each: translated((run.__doc__ or "").splitlines()[0]) for each, run in COMMANDS.items()})
        )
        print(Message("\nmethods of `inlaid classify train --method METHOD`:"))
        print(listed({entry.name: translated(entry.summary) for entry in registry.entries("classifier")}))
        print(examples_text("inlaid classify"))
        return
    if name not in COMMANDS:
        known = [Entry("command", each, "", "") for each in COMMANDS]
        hint = registry.suggestion(name, known)
        raise UnknownName("inlaid classify has no command '{name}'.{hint}", name=name, hint=hint)
    COMMANDS[name](words[1:])


def _train(words: list[str]) -> None:
    """Learn a classifier from labelled texts."""
    from inlaid import classification, places
    from inlaid.feed.labelled import read_labelled

    name = _typed_method(words)
    options = _train_options(name, words)
    paths = list(options.text)
    if options.planning:
        with drawn():  # it hears of kernels that are compiled
            labelled = read_labelled(paths, field=options.field, label_field=options.label_field)
            settings = {**values_of_group(options.settings), **_encoding(options)}
            planned = classification.plan_classifier(labelled, **settings)
        print_rows(planned.rows())
        return
    safety = _safety(options)
    others = {} if safety is None else {"checkpoint": safety.checkpoint}
    models = [getattr(options.settings, "embedder", None)]
    claimed = places.claimed(
        options.output, reads=paths, models=models, others=others, overwrite=options.overwrite
    )
    with claimed, drawn() as report:
        labelled = read_labelled(paths, field=options.field, label_field=options.label_field, report=report)
        classifier = _trained(name, options, labelled, safety, report)
        path = _saved(classifier, options)
    _clean_up(classifier, safety)
    summary = Message(
        "{path}: {labels:,} labels from {texts:,} texts, by {method}",
        path=path,
        labels=len(classifier.labels),
        texts=len(labelled),
        method=classifier.card.method,
    )
    print(summary)
    if path != options.output:
        reason = translated(classifier.card.outcome.reason)
        print(Message("This classifier is not finished ({reason}); add --resume to go on.", reason=reason))
    print_next([f"classify predict {as_typed(path)} TEXT", f"classify test {as_typed(path)} FILE"])


def _trained(name: str, options: Any, labelled: Any, safety: Any, report: Report) -> Any:
    """The classifier. Where training diverges, the last good one is saved before the error goes on."""
    from inlaid import classification

    kind = registry.find("classifier", name)
    try:
        classifier = classification.train_classifier(
            labelled,
            method=kind(**values_of_group(options.settings)),
            safety=safety,
            report=report,
            **_encoding(options),
        )
    except Diverged as error:
        if error.result is not None:
            path = _saved(error.result, options)
            report(Note("The last good classifier is in {path}.", path=path))
        raise
    if options.dtype == "int8":
        return classification.quantized(classifier, labelled.texts, report)
    return classifier


def _saved(classifier: Any, options: Any) -> Path:
    """Save a classifier, and return where it is: the output, or beside it if its run has not finished."""
    from inlaid.classification import save_classifier

    path = options.output
    outcome = classifier.card.outcome
    if outcome is not None and not outcome.finished:
        path = path.with_name(f"{short_name(path, len(PARTIAL))}{PARTIAL}")
    save_classifier(classifier, path, overwrite=options.overwrite)
    return path


def _clean_up(classifier: Any, safety: Any) -> None:
    """Remove the checkpoint of a run that is over."""
    from inlaid.jobs import checkpoint as checkpoints
    from inlaid.jobs.checkpoint import identity_of

    card = classifier.card
    if safety is None or safety.checkpoint is None or card.outcome is None or not card.outcome.finished:
        return
    with contextlib.suppress(OSError):
        checkpoints.remove(safety.checkpoint, identity_of(card.method, card.settings, card.corpus))


def _typed_method(words: list[str]) -> str:
    """The method that --method names; logistic where there is an embedder; otherwise n-grams."""
    for place, word in enumerate(words):
        if word.startswith("--method="):
            return registry.entry("classifier", word.partition("=")[2]).name
        if word == "--method" and place + 1 < len(words):
            return registry.entry("classifier", words[place + 1]).name
    typed = {word.partition("=")[0] for word in words}
    return "logistic" if "--embedder" in typed else "ngrams"


def _train_options(name: str, words: list[str]) -> Any:
    """The flags of a method: its settings, and for n-grams those of the encoding and of long runs."""
    from inlaid.config import settings_of, with_values
    from inlaid.jobs.arguments import default_encoding, split_settings
    from inlaid.jobs.safety import Safety

    if "--plan" in words and not {"-o", "--output"} & set(words):
        words = [*words, "--output", "-"]  # a plan writes nothing
    kind = registry.find("classifier", name)
    of_method, of_encoding = split_settings(config_values(words), kind)
    groups: dict[str, Any] = {"settings": flagged(settings_of(kind, of_method))}
    if name == "ngrams":
        groups["encoding"] = flagged(with_values(default_encoding(kind), of_encoding))
        groups["safety"] = flagged(Safety())
    methods = ", ".join(entry.name for entry in registry.entries("classifier"))
    arg = tyro.conf.arg
    fields: list[Any] = [
        ("text", Annotated[Positional[tuple[Path, ...]], arg(metavar="FILE...", help=TRAIN_HELP)]),
        ("output", Annotated[Path, arg(aliases=["-o"], help="the file to write")]),
        _flag("method", str, f"{methods}", name),
        _flag("label_field", str, "key or column of the label in a table", "label"),
        _flag(
            "dtype", Dtype, "float32, or int8 for a quarter of the size, with the loss measured", "float32"
        ),
        _flag("overwrite", bool, OVERWRITE_HELP, False),
        _flag("config", Path | None, "a TOML file of settings; flags override it", None),
    ]
    if name == "ngrams":
        fields.append(
            (
                "planning",
                Annotated[bool, arg(name="plan", help="show the time and memory of the run; train nothing")],
                dataclasses.field(default=False),
            )
        )
    else:
        fields.append(_flag("field", str, "key or column of the text in a table", "text"))
    fields += [(group, type(each), dataclasses.field(default=each)) for group, each in groups.items()]
    options = dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)
    parsed = parse(options, words, "inlaid classify train", inspect.getdoc(kind))
    return _Options(parsed)


class _Options:
    """The options of a command; what a method does not have is at its default."""

    def __init__(self, parsed: Any) -> None:
        self.parsed = parsed

    def __getattr__(self, name: str) -> Any:
        if name == "planning":
            return getattr(self.parsed, "planning", False)
        if name == "field" and not hasattr(self.parsed, "field"):
            return self.parsed.encoding.field
        return getattr(self.parsed, name)


def _encoding(options: Any) -> dict[str, Any]:
    """How the text is encoded, where the method reads words."""
    from inlaid.encode.corpus import Encoding

    if not hasattr(options.parsed, "encoding"):
        return {}
    return {"encoding": Encoding(**values_of_group(options.encoding))}


def _safety(options: Any) -> Any:
    """Checkpoints go beside the output unless they have a place of their own."""
    from inlaid.jobs.safety import Safety

    if not hasattr(options.parsed, "safety"):
        return None
    given = Safety(**values_of_group(options.safety))
    beside = options.output.parent / f"{short_name(options.output, len(CHECKPOINT))}{CHECKPOINT}"
    return dataclasses.replace(given, checkpoint=given.checkpoint or beside)


def _predict(words: list[str]) -> None:
    """Predict the labels of texts."""
    parse(later(predict), words, "inlaid classify predict")()


def predict(
    classifier: Positional[Path],
    texts: Positional[tuple[str, ...]] = (),
    file: Path | None = None,
    field: str = "text",
    n: Annotated[int, tyro.conf.arg(aliases=["-n"])] = 1,
    model: Path | None = None,
    json: bool = False,
) -> None:
    """Predict the labels of texts.

    Args:
        classifier: a classifier, as `inlaid classify train` wrote it
        texts: the texts; - reads them from standard input, one a line
        file: a file with one text a line, whose labels are passed over, or a table (csv, tsv, jsonl, parquet)
        field: the column of a table that has the texts
        n: labels shown for each text, the most probable first
        model: folder of the model, for a classifier of embedded texts whose model has moved
        json: print JSON lines: text, and labels with their probabilities
    """
    from inlaid.classification import load_classifier
    from inlaid.feed.labelled import without_labels
    from inlaid.study.use.texts import chunks, shortened, texts_of

    if n < 1:
        raise SettingError("n is {n}; expected at least 1.", n=n)
    with drawn() as report:
        loaded = load_classifier(classifier, model=model, report=report)
        for some in chunks(map(without_labels, texts_of(texts, file, field, report)), CHUNK):
            for text, found in zip(some, loaded.ranked(some, n), strict=True):
                if json:
                    print_json_line({"text": text, "labels": [each._asdict() for each in found]})
                    continue
                cells = [f"{each.label} {each.probability:.4f}" for each in found]
                print("\t".join([*cells, shortened(text, 60)]))


def _test(words: list[str]) -> None:
    """Compare predictions with known labels: accuracy, F1, mistakes."""
    parse(later(test), words, "inlaid classify test")()


def test(
    classifier: Positional[Path],
    files: Positional[tuple[Path, ...]],
    field: str = "text",
    label_field: str = "label",
    model: Path | None = None,
    json: bool = False,
) -> None:
    """Compare predictions with known labels: accuracy with its interval, F1, the most frequent mistakes.

    Args:
        classifier: a classifier, as `inlaid classify train` wrote it
        files: files of labelled texts
        field: the column of a table that has the texts
        label_field: the column of a table that has the labels
        model: folder of the model, for a classifier of embedded texts whose model has moved
        json: print JSON instead of text
    """
    from inlaid.classification import load_classifier, test_classifier
    from inlaid.feed.labelled import read_labelled

    with drawn() as report:
        loaded = load_classifier(classifier, model=model, report=report)
        labelled = read_labelled(list(files), field=field, label_field=label_field, report=report)
        found = test_classifier(loaded, labelled)
    if json:
        with speaking("en"):  # programs read it
            print_json(found.to_dict())
        return
    print_rows(found.rows())


def _flag(name: str, typed: Any, text: str, default: Any) -> tuple[str, Any, Any]:
    return name, Annotated[typed, tyro.conf.arg(help=text)], dataclasses.field(default=default)


CHUNK = 1024
"""Texts whose labels are printed at a time."""
Dtype = Literal["float32", "int8"]
COMMANDS: dict[str, Callable[[list[str]], None]] = {"train": _train, "predict": _predict, "test": _test}
