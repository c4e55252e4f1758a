"""Commands on text: tokenize, corpus, phrases, world."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from tyro.conf import Positional

from inlaid.commands.options import (
    Output,
    config_values,
    flagged,
    one_of,
    reading_options,
    text_of,
    values_of_group,
)
from inlaid.commands.parsing import parse
from inlaid.commands.streams import PIPE, lines_of_stdin, written
from inlaid.commands.terminal import print_note, print_report, print_tokens
from inlaid.messages import Message
from inlaid.progress import drawn
from inlaid.report import Note

if TYPE_CHECKING:
    from inlaid.encode.corpus import Corpus


TOKENIZE_HELP = "the text itself, in quotes; - reads it from standard input"


def tokenize_command(words: list[str]) -> None:
    """Show how a text is tokenized: tokens, ids and offsets."""
    from inlaid.encode.corpus import OF_WORDS, Encoding, open_corpus
    from inlaid.encode.tokenize import tokenize

    given = flagged(Encoding())
    fields: list[Any] = [
        ("text", Annotated[Positional[str], tyro.conf.arg(help=TOKENIZE_HELP)]),
        (
            "tokenizers",
            Annotated[tuple[str, ...], tyro.conf.arg(help="names of tokenizers, shown side by side")],
            dataclasses.field(default=()),
        ),
        (
            "corpus",
            Annotated[Path | None, tyro.conf.arg(help="tokenize as this corpus was, and show its ids")],
            dataclasses.field(default=None),
        ),
        ("encoding", tyro.conf.OmitArgPrefixes[type(given)], dataclasses.field(default=given)),
    ]
    kind = dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)
    options: Any = parse(kind, words, "inlaid tokenize", tokenize_command.__doc__)
    opened = open_corpus(options.corpus) if options.corpus else None
    if options.text == PIPE:
        options = dataclasses.replace(options, text=" ".join(lines_of_stdin()))
    if os.path.isfile(options.text):
        note = Note("{name} is taken as the text itself, not as a file.", name=options.text)
        print_note(note)
    settings = values_of_group(options.encoding)
    if options.encoding.tokenizer_file:
        shown = {options.encoding.tokenizer_file.name: tokenize(options.text, **settings)}
    elif opened is not None and not options.tokenizers and options.encoding == given:
        name = _tokenizer_name(opened)
        shown = {name: tokenize(options.text, corpus=opened)}
    else:
        shown = {}
        for name in options.tokenizers or (options.encoding.tokenizer,):
            own = settings | {"tokenizer": name}
            if name != "word":
                own = {setting: value for setting, value in own.items() if setting not in OF_WORDS}
            shown[name] = tokenize(options.text, **own)
    print_tokens(shown, opened.vocabulary.words.find if opened else {}.get)


def _tokenizer_name(corpus: Corpus) -> str:
    encoding = corpus.manifest["encoding"]
    file = encoding.get("tokenizer_file")
    return Path(file).name if file else str(encoding.get("tokenizer", "word"))


def corpus_command(words: list[str]) -> None:
    """Encode text into ids, once, for all methods."""
    from inlaid import pipeline
    from inlaid.config import settings_of
    from inlaid.encode.corpus import Encoding

    workers_help = (
        "how many work at the same time, by default all cores; the corpus is the same for any number"
    )
    workers = (
        "workers",
        Annotated[int | None, tyro.conf.arg(help=workers_help)],
        dataclasses.field(default=None),
    )
    cluster_help = (
        "encode on a Ray cluster, by its address, or `local` to start one on this machine; the corpus is the "
        "same, in shards"
    )
    cluster = (
        "cluster",
        Annotated[str | None, tyro.conf.arg(help=cluster_help)],
        dataclasses.field(default=None),
    )
    encoding = flagged(settings_of(Encoding, config_values(words)))
    kind = reading_options(workers, cluster, encoding=encoding)
    options: Any = parse(kind, words, "inlaid corpus", corpus_command.__doc__)
    with drawn() as report:
        made = pipeline.corpus(
            text_of(options),
            options.output,
            workers=options.workers,
            encoding=options.encoding,
            cluster=options.cluster,
            report=report,
        )
    print_report(str(options.output), dict(made.manifest))


def phrases_command(words: list[str]) -> None:
    """Join collocations of a corpus into one word."""
    from inlaid import pipeline
    from inlaid.config import settings_of
    from inlaid.encode.phrases import Phrases

    save = (
        "save",
        Annotated[Path | None, tyro.conf.arg(help="also save the phrases, for --phrases of other commands")],
        dataclasses.field(default=None),
    )
    overwrite = (
        "overwrite",
        Annotated[bool, tyro.conf.arg(help="replace the file of --save even if it exists")],
        dataclasses.field(default=False),
    )
    kind = reading_options(save, overwrite, settings=flagged(settings_of(Phrases, config_values(words))))
    options: Any = parse(kind, words, "inlaid phrases", phrases_command.__doc__)
    with drawn() as report:
        made = pipeline.phrases(
            one_of(options),
            options.output,
            save=options.save,
            overwrite=options.overwrite,
            report=report,
            **values_of_group(options.settings),
        )
    print_report(str(options.output), dict(made.manifest))


def world_command(
    output: Output,
    language: Literal["zh", "en", "both"] = "both",
    words: int = 100_000,
    seed: int = 1,
    dictionary: Path | None = None,
    pairs: bool = False,
    overwrite: bool = False,
) -> None:
    """Write text of the embedded world, one sentence per line.

    Args:
        output: the file to write; - is standard output
        language: which of its two languages
        words: how many words, at least
        seed: seed of the text
        dictionary: also write its Chinese words to this file, for `inlaid train --dictionary FILE
            --force-dictionary`
        pairs: write each Chinese sentence and its English translation on one line, separated by a tab; words
            are then counted in English
        overwrite: replace files that exist
    """
    from inlaid import files, places
    from inlaid.collect import world

    count = 0
    lines = world.sentences(language, words=words, seed=seed)
    if pairs:
        lines = (f"{pair.zh}\t{pair.en}" for pair in world.pairs(words=words, seed=seed))
    with contextlib.ExitStack() as held:
        target = held.enter_context(written(output))
        held.enter_context(places.claimed(target, others={"dictionary": dictionary}, overwrite=overwrite))
        if dictionary:
            held.enter_context(places.claimed(dictionary, overwrite=overwrite))
        with files.writing(target) as file:
            for sentence in lines:
                file.write(f"{sentence}\n".encode())
                count += 1
        if dictionary:
            files.write_text(dictionary, "\n".join(world.dictionary()) + "\n")
    if str(output) == PIPE:
        return
    if pairs:
        print(Message("{path}: {count:,} pairs", path=output, count=count))
    else:
        print(Message("{path}: {count:,} sentences", path=output, count=count))
