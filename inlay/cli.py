"""Parse, call, print; the file that prints, with terminal.py."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import Positional

from inlay import registry
from inlay.config import read_toml
from inlay.errors import InlayError, SettingError, UnknownName, did_you_mean
from inlay.terminal import drawn, later, listed, parse, print_json_neighbors, print_neighbors, print_report, print_scores, print_tokens

Text = Positional[tuple[Path, ...]]
Output = Annotated[Path, tyro.conf.arg(aliases=["-o"])]
Number = Annotated[int, tyro.conf.arg(aliases=["-n"])]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. 0: done. 2: the user can mend it, and one line says how. 130: interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    try:
        _run([word for word in words if word != "--debug"])
    except BrokenPipeError:  # `inlay ... | head` is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (InlayError, MemoryError, OSError) as error:
        if debug:
            raise
        print(f"error: {' '.join(str(error).split()) or 'not enough memory'}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def _run(words: list[str]) -> None:
    name, rest = (words[0], words[1:]) if words else ("--help", [])
    if name in ("-h", "--help"):
        print(_overview())
    elif name == "--version":
        from importlib import metadata

        print(f"inlay {metadata.version('inlay')}")
    elif name in READERS:
        READERS[name](rest)
    elif name in COMMANDS:
        parse(later(COMMANDS[name]), rest, f"inlay {name}")()
    else:
        raise UnknownName(
            f"There is no command '{name}'.{did_you_mean(name, [*READERS, *COMMANDS]) or ' Run `inlay --help` for the list.'}"
        )


# --- commands: the docstring is the help, the parameters are the flags --------------------------------------------------


def train(words: list[str]) -> None:
    """Learn vectors from text with a method."""
    if not words or words[0] in ("-h", "--help"):
        print("usage: inlay train METHOD TEXT... -o FILE [settings]\n\nmethods:")
        print(listed({entry.name: entry.summary for entry in registry.entries("method")}))
        print("\n`inlay train METHOD --help` lists the settings of one method.")
        return
    name, words = words[0], words[1:]
    kind = registry.find("method", name)

    from inlay import files, pipeline
    from inlay.config import settings_of
    from inlay.encode.corpus import Encoding

    of_method, of_encoding = pipeline.split_settings(_config_values(words), kind)
    groups = {"settings": settings_of(kind, of_method), "encoding": settings_of(Encoding, of_encoding)}
    options = parse(_reading(**groups), words, f"inlay train {name}", kind.__doc__)
    files.can_write(options.output)
    with drawn() as report:
        values = _values(options.settings) | (_values(options.encoding) if options.encoding != Encoding() else {})
        vectors = pipeline.train(_text(options), name, report=report, **values)
        pipeline.save(vectors, options.output)
    print(f"{options.output}: {len(vectors):,} words x {vectors.dim}, by {name}")


def corpus(words: list[str]) -> None:
    """Turn text into ids, once, for all methods."""
    from inlay import pipeline
    from inlay.config import settings_of
    from inlay.encode.corpus import Encoding

    groups = {"encoding": settings_of(Encoding, _config_values(words)), "workers": os.cpu_count() or 1}
    options = parse(_reading(**groups), words, "inlay corpus", Encoding.__doc__)
    with drawn() as report:
        made = pipeline.corpus(_text(options), options.output, workers=options.workers, report=report, **_values(options.encoding))
    print_report(str(options.output), dict(made.manifest))


def tokenize(words: list[str]) -> None:
    """Show how a text is cut: tokens, ids and places, for one tokenizer or several side by side."""
    from inlay import pipeline
    from inlay.encode.corpus import Encoding, open_corpus

    fields = [
        ("text", Annotated[Positional[str], tyro.conf.arg(help="the text itself, in quotes")]),
        ("tokenizers", Annotated[tuple[str, ...], tyro.conf.arg(help="names of tokenizers")], dataclasses.field(default=("word",))),
        ("corpus", Annotated[Path | None, tyro.conf.arg(help="show the ids of this corpus")], dataclasses.field(default=None)),
        ("encoding", tyro.conf.OmitArgPrefixes[Encoding], dataclasses.field(default=Encoding())),
    ]
    kind = dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)
    options: Any = parse(kind, words, "inlay tokenize", tokenize.__doc__)
    settings = _values(options.encoding)
    if options.encoding.tokenizer_file:
        shown = {options.encoding.tokenizer_file.name: pipeline.tokenize(options.text, **settings)}
    else:
        others = settings | {"dictionary": None}  # only words take one
        shown = {
            name: pipeline.tokenize(options.text, **(settings if name == "word" else others) | {"tokenizer": name})
            for name in options.tokenizers
        }
    known = open_corpus(options.corpus).vocabulary.words if options.corpus else None
    print_tokens(shown, known.find if known else {}.get)


def phrases(words: list[str]) -> None:
    """Join collocations of a corpus into one word."""
    from inlay import pipeline
    from inlay.config import settings_of
    from inlay.encode.phrases import Phrases

    options = parse(_reading(settings=settings_of(Phrases, _config_values(words))), words, "inlay phrases", Phrases.__doc__)
    with drawn() as report:
        made = pipeline.phrases(_one(options), options.output, report=report, **_values(options.settings))
    print_report(str(options.output), dict(made.manifest))


def neighbors(
    vectors: Positional[Path],
    words: Positional[tuple[str, ...]],
    n: Number = 10,
    by: Literal["cosine", "csls", "frequency"] = "cosine",
    top: int | None = None,
    include: bool = False,
    json: bool = False,
) -> None:
    """The words nearest to each WORD.

    Args:
        vectors: a file of vectors
        words: the words to look around, one list each
        n: how many neighbors
        by: cosine, csls (free of hubs) or frequency (free of what words of a frequency share)
        top: only among so many first words
        include: let a word find itself
        json: as JSON, for programs
    """
    from inlay import pipeline
    from inlay.study import search

    if not words:
        raise SettingError("No word was named. Name the words to look around.")
    found = search.neighbors_of_each(pipeline.load(vectors), words, n=n, by=by, top=top, include=include)
    print_json_neighbors(words, found) if json else print_neighbors(words, found)


def analogy(
    vectors: Positional[Path],
    formula: Positional[str],
    n: Number = 10,
    by: Literal["cosine", "csls", "frequency"] = "cosine",
    top: int | None = None,
    include: bool = False,
    json: bool = False,
) -> None:
    """The words nearest to a sum of words: "king - man + woman".

    Args:
        vectors: a file of vectors
        formula: words joined by + and -, with blanks around the signs; 2 * word, brackets, "new york" in quotes
        n: how many answers
        by: cosine, csls (free of hubs) or frequency (free of what words of a frequency share)
        top: only among so many first words
        include: let the words of the formula be answers
        json: as JSON, for programs
    """
    from inlay import pipeline
    from inlay.study import formulas, search

    space = pipeline.load(vectors)
    read = formulas.parse(formula, space.__contains__)
    if formulas.parse(formula) != read:  # signs without blanks: say how they were taken
        print(f"note: read as {read}", file=sys.stderr)
    found = [search.analogy(space, read, n=n, by=by, top=top, include=include)]
    print_json_neighbors([str(read)], found) if json else print_neighbors([str(read)], found)


def evaluate(
    vectors: Positional[Path],
    tasks: Positional[tuple[str, ...]] = (),
    against: Path | None = None,
    also: tuple[Path, ...] = (),
    top: int | None = None,
    fold: bool = False,
    unknown: Literal["skip", "wrong"] = "skip",
    sections: bool = False,
    json: bool = False,
) -> None:
    """Score vectors on tasks with known answers.

    Args:
        vectors: a file of vectors
        tasks: names of tasks, or files and folders of task files; all named tasks when none is given
        against: other vectors, compared on the items both know
        also: more vectors of the same kind, such as other seeds: means and their intervals are shown
        top: only the first so many words take part, as answers too
        fold: words that differ in case alone are one
        unknown: items with an unknown word are left out, or count as wrong
        sections: also show the sections of each task
        json: print JSON instead of a table
    """
    from inlay import pipeline
    from inlay.study.evaluate import evaluate, evaluate_against, summarize
    from inlay.study.lookup import Policy

    if against and also:
        raise SettingError("--against compares two models and --also averages several; give one of them.")
    with drawn() as report:
        policy, first = Policy(top=top, fold=fold, unknown=unknown), pipeline.load(vectors)
        if against:
            found: Sequence[Any] = evaluate_against(first, pipeline.load(against), tasks, policy=policy, report=report)
        else:
            runs = [evaluate(each, tasks, policy=policy, report=report) for each in (first, *map(pipeline.load, also))]
            found = summarize(runs) if also else runs[0]
    print_scores(found, sections=sections, as_json=json)


def convert(words: list[str]) -> None:
    """Read vectors in one format and write them in another."""
    from inlay import files, pipeline
    from inlay.formats.native import Numbers
    from inlay.formats.reading import Reading

    formats = ", ".join(entry.name for entry in registry.entries("format"))
    fields = [
        ("source", Annotated[Positional[Path], tyro.conf.arg(help="a file or folder of vectors")]),
        ("target", Annotated[Positional[Path], tyro.conf.arg(help="what to write; its ending says the format")]),
        ("format", Annotated[str | None, tyro.conf.arg(help=f"format of the target: {formats}")], dataclasses.field(default=None)),
        ("numbers", Annotated[Numbers, tyro.conf.arg(help="how Inlay's own format keeps them")], dataclasses.field(default="float32")),
        ("reading", tyro.conf.OmitArgPrefixes[Reading], dataclasses.field(default=Reading())),
    ]
    kind = dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)
    options: Any = parse(kind, words, "inlay convert", convert.__doc__)
    if options.target.suffix:
        files.can_write(options.target)
    with drawn() as report:
        vectors = pipeline.convert(
            options.source, options.target, format=options.format, numbers=options.numbers, report=report, **_values(options.reading)
        )
    print(f"{options.target}: {len(vectors):,} words x {vectors.dim}")


def info(path: Positional[Path]) -> None:
    """What a file of vectors or a corpus holds and how it came to be.

    Args:
        path: a file of vectors, or the folder of a corpus
    """
    import json

    from inlay.pipeline import info

    print(json.dumps(info(path), indent=2, ensure_ascii=False))


def verify(path: Positional[Path]) -> None:
    """Read every byte of a file of vectors or a corpus and compare checksums.

    Args:
        path: a file of vectors, or the folder of a corpus
    """
    from inlay.pipeline import verify

    print(f"{path}: {verify(path):,} bytes, all as written")


def inspect(path: Positional[Path]) -> None:
    """What is inside a checkpoint, without loading it: tables, tied or not, parameters by part, memory.

    Args:
        path: a folder with config.json and weights, or a config.json alone
    """
    from inlay.study.inspect import inspect

    print(inspect(path))


def world(
    output: Output,
    language: Literal["zh", "en", "both"] = "both",
    words: int = 100_000,
    seed: int = 1,
    dictionary: Path | None = None,
) -> None:
    """Write text of the embedded world, one sentence a line.

    Args:
        output: the file to write
        language: which of its two languages
        words: how many words, at least
        seed: another seed, another text
        dictionary: also write its Chinese words to this file, for `inlay train ... --dictionary`
    """
    from inlay import files
    from inlay.collect import world

    with files.writing(output) as file:
        for sentence in world.sentences(language, words=words, seed=seed):
            file.write(f"{sentence}\n".encode())
    if dictionary:
        files.write_text(dictionary, "\n".join(world.dictionary()) + "\n")


def demo(words: int = 300_000, seed: int = 1) -> None:
    """Train on the embedded world and show what was found, in both languages.

    Args:
        words: how many words of text to write, in each language
        seed: another seed, another text
    """
    from inlay import pipeline
    from inlay.study.evaluate import evaluate
    from inlay.study.search import analogy, neighbors

    with drawn() as report:
        spaces = pipeline.demo(words=words, seed=seed, report=report)
    for language, vectors in spaces.items():
        shown = SHOWN[language]
        print(f"\n{shown.title}: {len(vectors):,} x {vectors.dim}, {vectors.card.method}")
        for word in shown.words:
            print(f"  {word} ~ {'  '.join(f'{each.word} {each.score:.2f}' for each in neighbors(vectors, word, n=5))}")
        for formula in shown.formulas:
            print(f"  {formula} = {analogy(vectors, formula, n=1)[0].word}")
    print()
    scores = [score for vectors in spaces.values() for score in evaluate(vectors, ("world-fields", "world-analogies"))]
    print_scores([dataclasses.replace(score, others=()) for score in scores])


READERS: dict[str, Callable[[list[str]], None]] = {
    "tokenize": tokenize, "corpus": corpus, "phrases": phrases, "train": train, "convert": convert,
}  # fmt: skip
"""Commands whose flags depend on what they are asked for; they parse for themselves."""
COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "world": world,
    "neighbors": neighbors,
    "analogy": analogy,
    "evaluate": evaluate,
    "info": info,
    "inspect": inspect,
    "verify": verify,
}


@dataclasses.dataclass(frozen=True)
class Shown:
    """What the demo shows of one language."""

    title: str
    words: tuple[str, ...]
    formulas: tuple[str, ...]


SHOWN = {
    "zh": Shown("中文", ("香蕉", "北京", "医生", "高兴"), ("国王 - 男人 + 女人", "北京 - 中国 + 法国")),
    "en": Shown(
        "English", ("banana", "paris", "doctor", "happy"), ("king - man + woman", "beijing - china + france", "walked - walk + swim")
    ),
}


# --- parsing ------------------------------------------------------------------------------------------------------------


def _reading(**groups: object) -> type:
    """Options of a command that reads text: where from, where to, and groups of settings with their defaults."""
    fixed = [
        ("text", Annotated[Text, tyro.conf.arg(help="files or folders of text, or the folder of a corpus")]),
        ("output", Annotated[Output, tyro.conf.arg(help="what to write")]),
        (
            "config",
            Annotated[Path | None, tyro.conf.arg(help="a TOML file of settings; flags override it")],
            dataclasses.field(default=None),
        ),
    ]
    given = [(name, type(default), dataclasses.field(default=default)) for name, default in groups.items()]
    return dataclasses.make_dataclass("Options", fixed + given, frozen=True, kw_only=True)


def _config_values(words: list[str]) -> dict[str, Any]:
    """The settings of the file named by --config, which must be known before the flags can be read."""
    if "--config" not in words[:-1]:
        return {}
    return read_toml(Path(words[words.index("--config") + 1]))


def _text(options: Any) -> Path | list[Path]:
    if not options.text:
        raise SettingError("No text was named. Name files or folders of text, or the folder of a corpus.")
    return options.text[0] if len(options.text) == 1 else list(options.text)


def _one(options: Any) -> Path:
    if len(options.text) != 1:
        raise SettingError("Name one corpus: the folder that `inlay corpus` wrote.")
    return options.text[0]


def _values(settings: Any) -> dict[str, Any]:
    return {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}


def _overview() -> str:
    lines = {name: (command.__doc__ or "").splitlines()[0] for name, command in (READERS | COMMANDS).items()}
    return "\n".join([
        "usage: inlay COMMAND ...\n\nFrom raw text to vectors you can trust, look into and put to work.\n",
        listed(lines),
        "\n`inlay COMMAND --help` explains one; --debug shows where an error came from.",
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
