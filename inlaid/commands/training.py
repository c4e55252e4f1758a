"""`inlaid train`: a method, its flags and what its abilities allow."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from inlaid import registry
from inlaid.commands import results
from inlaid.commands.examples import examples_text
from inlaid.commands.options import (
    PAIRS_HELP,
    TEXT_HELP,
    config_values,
    flagged,
    reading_options,
    saving_fields,
    text_of,
    values_of_group,
)
from inlaid.commands.parsing import parse
from inlaid.commands.terminal import listed, print_rows
from inlaid.errors import Diverged
from inlaid.locks import short_name
from inlaid.messages import Message, translated
from inlaid.progress import drawn
from inlaid.report import Report

if TYPE_CHECKING:
    from inlaid.jobs.safety import Safety
    from inlaid.jobs.training import Abilities

CHECKPOINT = ".checkpoint"
"""Suffix of the checkpoint beside the output."""


def train_command(words: list[str]) -> None:
    """Learn vectors or a model from text with a method."""
    if not words or words[0] in ("-h", "--help"):
        print(Message("usage: {usage}", usage="inlaid train METHOD TEXT... -o FILE [settings]\n"))
        print(Message("methods:"))
        print(listed({entry.name: translated(entry.summary) for entry in registry.entries("method")}))
        print(Message("\n`inlaid train METHOD --help` lists the settings of one method."))
        print(examples_text("inlaid train"))
        return
    name = words[0]
    kind = registry.find("method", name)

    from inlaid import pipeline
    from inlaid.jobs.arguments import check_alias

    options = _parsed(name, kind, words[1:])
    check_alias(name, options.settings)
    if options.planning.plan:
        with drawn():  # it hears of kernels that are compiled
            planned = pipeline.plan(text_of(options), options.settings, encoding=_encoding(options))
        print_rows(planned.rows())
        return
    _train_to_file(options, _safety(options))


def _train_to_file(options: Any, safety: Safety) -> None:
    from inlaid import places

    target = results.target_for(options)
    claimed = places.claimed(
        options.output,
        reads=_read(options),
        others={"checkpoint": safety.checkpoint, "partial result": target.partial},
        folder=target.is_folder,
        overwrite=target.overwrite,
    )
    with claimed:
        target.check_partial()
        with drawn() as report:
            result = _train_or_rescue(options, target, safety, report)
            path = target.save(result, report)
        target.clean_up(result.card, safety.checkpoint)  # before printing, which a closed pipe would end
        summary = target.summary(result)
        print(
            Message("{path}: {summary}, by {method}", path=path, summary=summary, method=result.card.method)
        )
        results.say_how_to_continue(target.unfinished(), result.card, safety.checkpoint)
    target.print_next_steps(path, result)


def _read(options: Any) -> list[Path | None]:
    """The files and folders that a training reads."""
    from inlaid.encode.inputs import places_read

    earlier = _continuing(options).get("init_from") or getattr(options.settings, "init_from", None)
    return [*places_read(text_of(options), options.encoding), earlier, options.config]


def _parsed(name: str, kind: Any, words: list[str]) -> Any:
    """The flags of this method: its settings, those of the encoding, and whatever its abilities allow."""
    from inlaid.config import with_values
    from inlaid.jobs.arguments import default_encoding, method_of, split_settings
    from inlaid.jobs.training import ReadsPairs

    if "--plan" in words and not {"-o", "--output"} & set(words):
        words = [*words, "--output", "-"]  # a plan writes nothing
    _refuse_flags_of_other_methods(name, kind, words)
    of_method, of_encoding = split_settings(config_values(words), kind)
    groups: dict[str, object] = {
        "settings": flagged(method_of(name, of_method)),
        "encoding": flagged(with_values(default_encoding(kind), of_encoding)),
        **_offered(kind.abilities),
    }
    program = f"inlaid train {name}"
    saving = [] if kind.abilities.model else saving_fields()
    text_help = PAIRS_HELP if issubclass(kind, ReadsPairs) else TEXT_HELP
    options_kind = reading_options(*saving, text_help=text_help, **groups)
    options: Any = parse(options_kind, words, program, inspect.getdoc(kind))
    return dataclasses.replace(options, settings=kind(**values_of_group(options.settings)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Planning:
    """What a run will take."""

    plan: bool = False
    """Show the time and memory that the run would take, and train nothing."""


def _groups() -> dict[str, type]:
    """Groups of flags beside the settings of a method. Some fields need an ability: see `Needs`."""
    from inlaid.jobs.init_from import Continuing
    from inlaid.jobs.safety import Safety

    return {"planning": Planning, "safety": Safety, "continuing": Continuing}


def _offered(can: Abilities) -> dict[str, object]:
    """The flags of those groups that a method with these abilities has use for, with their defaults."""
    from inlaid.jobs.training import needs

    groups = dict[str, object]()
    for group, kind in _groups().items():
        needed = needs(kind)
        names = [field.name for field in dataclasses.fields(kind)]
        able = [name for name in names if name not in needed or getattr(can, needed[name])]
        if able:
            groups[group] = _part_of(kind, able)
    return groups


def _refuse_flags_of_other_methods(name: str, kind: Any, words: list[str]) -> None:
    """Raise SettingError for a flag that some methods have and this one has not, and name those methods."""
    from inlaid.jobs.training import needs, refusal

    typed = {word.partition("=")[0].replace("_", "-") for word in words}
    own = {field.name for field in dataclasses.fields(kind)}
    for group in _groups().values():
        for setting, ability in needs(group).items():
            flag = f"--{setting.replace('_', '-')}"
            if flag in typed and setting not in own and not getattr(kind.abilities, ability):
                raise refusal(name, flag, ability)


def _part_of(kind: Any, names: list[str]) -> object:
    """Some fields of a settings class, with their defaults and help."""
    from inlaid.config import field_help

    hints = typing.get_type_hints(kind, include_extras=True)
    helps = field_help(kind)
    fields = [
        (
            field.name,
            Annotated[_typed(hints[field.name]), tyro.conf.arg(help=helps[field.name])],
            dataclasses.field(default=field.default),
        )
        for field in dataclasses.fields(kind)
        if field.name in names
    ]
    return dataclasses.make_dataclass(kind.__name__, fields, frozen=True, kw_only=True)()


def _typed(hint: Any) -> Any:
    """What a flag takes: for vectors, the path of their file."""
    from inlaid.vectors import Vectors

    plain = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    return Path | None if Vectors in typing.get_args(plain) else hint


def _encoding(options: Any) -> Any:
    """How the text is encoded; None where no flag says so, as a corpus takes none."""
    from inlaid.encode.corpus import Encoding
    from inlaid.jobs.arguments import default_encoding

    given = Encoding(**values_of_group(options.encoding))
    return None if given == default_encoding(type(options.settings)) else given


def _safety(options: Any) -> Safety:
    """Checkpoints go beside the vectors unless they have a place of their own."""
    from inlaid.jobs.safety import Safety

    if not hasattr(options, "safety"):
        return Safety()
    given = Safety(**values_of_group(options.safety))
    beside = options.output.parent / f"{short_name(options.output, len(CHECKPOINT))}{CHECKPOINT}"
    return dataclasses.replace(given, checkpoint=given.checkpoint or beside)


def _continuing(options: Any) -> dict[str, Any]:
    """The arguments of `pipeline.train` about earlier vectors, which are still a path."""
    return values_of_group(options.continuing) if hasattr(options, "continuing") else {}


def _train_or_rescue(options: Any, target: results.Target, safety: Safety, report: Report) -> Any:
    """The result. Where training diverges, the last good one is saved before the error goes on."""
    from inlaid import pipeline, storage

    continuing = _continuing(options)
    if continuing.get("init_from") is not None:
        continuing["init_from"] = storage.load(continuing["init_from"], report=report)
    try:
        return pipeline.train(
            text_of(options),
            options.settings,
            encoding=_encoding(options),
            safety=safety,
            report=report,
            **continuing,
        )
    except Diverged as error:
        if error.result is not None:
            path = target.save(error.result, report)
            report(target.last_good(path))
        raise
