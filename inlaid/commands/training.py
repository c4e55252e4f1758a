"""`inlaid train`: a method, its flags and what its abilities allow."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from inlaid import registry
from inlaid.commands.options import config_values, reading_options, saving_fields, text_of
from inlaid.commands.parsing import parse
from inlaid.commands.terminal import as_typed, drawn, listed, print_rows
from inlaid.errors import Diverged, InlaidError, SettingError, Unsynced
from inlaid.locks import short_name
from inlaid.report import Note, Report

if TYPE_CHECKING:
    from inlaid.jobs.safety import Safety
    from inlaid.jobs.training import Abilities
    from inlaid.vectors import Vectors

ABILITY_OF_FLAG = {
    "--init-from": "init_from",
    "--freeze": "freeze",
    "--patience": "held_out",
    "--checkpoint": "steps",
    "--checkpoint-minutes": "steps",
    "--resume": "steps",
    "--minutes": "steps",
}
"""Flags that only some methods have, and the ability each of them needs."""
CHECKPOINT = ".checkpoint"
"""Suffix of the checkpoint beside the output."""


def train(words: list[str]) -> None:
    """Learn vectors from text with a method."""
    if not words or words[0] in ("-h", "--help"):
        print("usage: inlaid train METHOD TEXT... -o FILE [settings]\n\nmethods:")
        print(listed({entry.name: entry.summary for entry in registry.entries("method")}))
        print("\n`inlaid train METHOD --help` lists the settings of one method.")
        return
    name = words[0]
    kind = registry.find("method", name)

    from inlaid import pipeline

    options = _parsed(name, kind, words[1:])
    method = options.settings
    pipeline.check_alias(name, method)
    if options.planning.plan:
        planned = pipeline.plan(text_of(options), method, encoding=_encoding(options))
        print_rows(planned.rows())
        return
    _train(options, method)


def _train(options: Any, method: Any) -> None:
    from inlaid import pipeline, places
    from inlaid.jobs.unmoved import unmoved_note

    target = pipeline.output_format(options.output, options.format)
    checkpoint = _safety(options).checkpoint
    claimed = places.claimed(
        options.output,
        reads=_read(options),
        others={"checkpoint": checkpoint},
        folder=pipeline.is_folder_format(target),
        overwrite=options.overwrite,
    )
    with claimed:
        with drawn() as report:
            vectors = _trained(options, method, report)
            _save(vectors, options, report)
        _remove_checkpoint(checkpoint, vectors)  # before printing, which a closed pipe would end
        print(f"{options.output}: {len(vectors):,} words x {vectors.dim}, by {vectors.card.method}")
        _say_how_to_continue(checkpoint, vectors, options.output)
    _print_next_steps(options.output, vectors)
    unmoved = unmoved_note(vectors.card.outcome, len(vectors))
    if unmoved is not None:
        print(f"\n{unmoved}")


def _read(options: Any) -> list[Path | None]:
    """The files and folders that a training reads."""
    from inlaid import pipeline

    earlier = getattr(options, "continuing", Continuing()).init_from
    return [*pipeline.places_read(text_of(options), options.encoding), earlier, options.config]


def _save(vectors: Vectors, options: Any, report: Report) -> None:
    """Save the result; if its format cannot hold it, as an .inlaid file, so that no work is lost."""
    from inlaid import pipeline
    from inlaid.formats.reading import free_native_file

    try:
        pipeline.save(
            vectors, options.output, format=options.format, overwrite=options.overwrite, report=report
        )
    except InlaidError as error:
        if pipeline.output_format(options.output, options.format).name == "native":
            raise
        if isinstance(error, Unsynced):
            raise
        rescued = free_native_file(options.output)
        with contextlib.suppress(InlaidError):  # the first error matters more
            pipeline.save(vectors, rescued, report=report)
            report(Note("The vectors are in {path} instead.", path=rescued))
        raise


def _parsed(name: str, kind: Any, words: list[str]) -> Any:
    """The flags of this method: its settings, those of the encoding, and whatever its abilities allow."""
    from inlaid import pipeline
    from inlaid.config import settings_of
    from inlaid.encode.corpus import Encoding

    if "--plan" in words and not {"-o", "--output"} & set(words):
        words = [*words, "--output", "-"]  # a plan writes nothing
    _refuse_flags_of_other_methods(name, kind.abilities, words)
    of_method, of_encoding = pipeline.split_settings(config_values(words), kind)
    groups: dict[str, object] = {
        "settings": pipeline.method_of(name, of_method),
        "encoding": settings_of(Encoding, of_encoding),
        **_offered(kind.abilities),
    }
    program = f"inlaid train {name}"
    return parse(reading_options(*saving_fields(), **groups), words, program, kind.__doc__)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Continuing:
    """Continuing from earlier vectors, with new text."""

    init_from: Path | None = None
    """Earlier vectors to continue from; their words keep their ids, new words follow."""
    freeze: bool = False
    """Keep the vectors of --init-from fixed, to the bit, while new words learn."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Planning:
    """What a run will take."""

    plan: bool = False
    """Show the time and memory that the run would take, and train nothing."""


def _offered(can: Abilities) -> dict[str, object]:
    """Groups of flags that a method with these abilities has use for, with their defaults."""
    from inlaid.jobs.safety import Safety

    groups: dict[str, object] = {"planning": Planning()}
    if can.steps:
        names = [
            field.name for field in dataclasses.fields(Safety) if field.name != "patience" or can.held_out
        ]
        groups["safety"] = _part_of(Safety, names)
    if can.init_from:
        names = ["init_from", "freeze"] if can.freeze else ["init_from"]
        groups["continuing"] = _part_of(Continuing, names)
    return groups


def _refuse_flags_of_other_methods(name: str, can: Abilities, words: list[str]) -> None:
    """Raise SettingError for a flag that some methods have and this one has not, and name those methods."""
    from inlaid.jobs.job import methods_that

    for word in words:
        flag = word.partition("=")[0]
        ability = ABILITY_OF_FLAG.get(flag)
        if ability is not None and not getattr(can, ability):
            raise SettingError(
                "{name} does not take {flag}: it is for {others}.",
                name=name,
                flag=flag,
                others=methods_that(ability),
            )


def _part_of(kind: Any, names: list[str]) -> object:
    """Some fields of a settings class, with their defaults and help."""
    from inlaid.config import field_help

    hints = typing.get_type_hints(kind, include_extras=True)
    helps = field_help(kind)
    fields = [
        (
            field.name,
            Annotated[hints[field.name], tyro.conf.arg(help=helps[field.name])],
            dataclasses.field(default=field.default),
        )
        for field in dataclasses.fields(kind)
        if field.name in names
    ]
    return dataclasses.make_dataclass(kind.__name__, fields, frozen=True, kw_only=True)()


def _encoding(options: Any) -> Any:
    """How the text is encoded; None where no flag says so, as a corpus takes none."""
    from inlaid.encode.corpus import Encoding

    return None if options.encoding == Encoding() else options.encoding


def _safety(options: Any) -> Safety:
    """Checkpoints go beside the vectors unless they have a place of their own."""
    from inlaid.jobs.safety import Safety

    if not hasattr(options, "safety"):
        return Safety()
    given = Safety(
        **{field.name: getattr(options.safety, field.name) for field in dataclasses.fields(options.safety)}
    )
    beside = options.output.with_name(f"{short_name(options.output, len(CHECKPOINT))}{CHECKPOINT}")
    return dataclasses.replace(given, checkpoint=given.checkpoint or beside)


def _trained(options: Any, method: Any, report: Report) -> Vectors:
    from inlaid import pipeline

    continuing = getattr(options, "continuing", Continuing())
    earlier = None if continuing.init_from is None else pipeline.load(continuing.init_from, report=report)
    try:
        return pipeline.train(
            text_of(options),
            method,
            encoding=_encoding(options),
            safety=_safety(options),
            init_from=earlier,
            freeze=getattr(continuing, "freeze", False),
            report=report,
        )
    except Diverged as error:
        if error.result is not None:
            _save(error.result, options, report)
            report(Note("The last good vectors are in {path}.", path=options.output))
        raise


def _remove_checkpoint(path: Path | None, vectors: Vectors) -> None:
    """Remove the checkpoint of a run that is over."""
    from inlaid.jobs import checkpoint

    card = vectors.card
    if path is None or card.outcome is None or not card.outcome.finished or not path.exists():
        return
    try:
        checkpoint.remove(path, checkpoint.identity_of(card.method, card.settings, card.corpus))
    except InlaidError as error:  # the result is saved all the same
        print(f"note: the checkpoint stays: {error}", file=sys.stderr)


def _say_how_to_continue(path: Path | None, vectors: Vectors, output: Path) -> None:
    """After a run that was interrupted: --resume continues from its checkpoint."""
    outcome = vectors.card.outcome
    if path is None or outcome is None or outcome.finished or not path.exists():
        return
    print(f"{_how_to_continue(output)}; the checkpoint is {path}.")
    if outcome.reason == "interrupted":
        raise KeyboardInterrupt


def _how_to_continue(output: Path) -> str:
    """What to type after an interrupted run, which has saved the vectors so far."""
    from inlaid import places

    if output.is_dir():
        return f"Remove {output}, then continue with the same command and --resume"
    if places.is_ours(output):
        return "Continue with the same command and --resume"
    return "Continue with the same command and --resume --overwrite"


def _print_next_steps(output: Path, vectors: Vectors) -> None:
    """What to type next, with a word that is neither the most frequent nor rare."""
    middle = min(len(vectors) // 10, 500)
    words = vectors.words[middle : middle + 100]
    word = next((each for each in words if each.isalpha()), words[0])
    path = as_typed(output)
    print(f"\nNext:\n  inlaid neighbors {path} {as_typed(word)}\n  inlaid evaluate {path}")
