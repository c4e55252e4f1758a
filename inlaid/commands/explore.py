"""`inlaid explore`: vectors and models in a browser: look at them, question them, compare them."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import webbrowser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import Positional

from inlaid.commands.options import OVERWRITE_HELP
from inlaid.commands.parsing import parse
from inlaid.config import Range, check
from inlaid.errors import SettingError, need
from inlaid.messages import Message, spoken_language
from inlaid.progress import drawn
from inlaid.report import Note, Report

if TYPE_CHECKING:
    from inlaid.view.explorer.state import Explorer, Shown
    from inlaid.view.spaces import Spaces

EXPORTED = 5_000
"""Words of a map in an exported file, where nothing says how many."""
FILE_HELP = "files of vectors and folders of models; NAME=PATH gives one a name; none: the guided tour"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is typed after `inlaid explore`."""

    spaces: Annotated[Positional[tuple[str, ...]], tyro.conf.arg(metavar="[PATH...]", help=FILE_HELP)] = ()
    corpus: tuple[Path, ...] = ()
    """the corpus of each file of vectors, in their order, to show what brings words together"""
    text: tuple[Path, ...] = ()
    """the files that the corpora were encoded from, to show sentences as they are written there"""
    dictionary: Path | None = None
    """with two files of vectors: align the first to the second, and show both on one map"""
    top: Annotated[int, Range(1, 1_000_000)] | None = None
    """words on a map, the first ones (a million; 5,000 in an exported file)"""
    neighborhoods: Annotated[int, Range(4, 100_000)] = 10_000
    """words that t-SNE and UMAP lay out"""
    sentence: tuple[str, ...] = ()
    """texts to show inside the models of an exported file"""
    export: Path | None = None
    """write one file (.html) that works without a network, instead of starting a server"""
    port: Annotated[int, Range(0, 65535)] = 8765
    """the port on this machine; 0 takes a free one"""
    open: bool = True
    """open the browser. `--no-open`: only print the address"""
    overwrite: Annotated[bool, tyro.conf.arg(help=OVERWRITE_HELP)] = False

    def __post_init__(self) -> None:
        check(self)


def explore_command(words: list[str]) -> None:
    """Look at vectors and models in a browser: maps, questions, comparisons, attention, a guided tour."""
    options: Options = parse(Options, words, "inlaid explore", explore_command.__doc__)
    for module in ("fastapi", "granian", "orjson"):
        need(module, extra="explore")
    from inlaid.view.explorer.page import page_file

    page_file("index.html")
    _check_export(options.export, overwrite=options.overwrite)
    with drawn() as report:
        opened, tour = _opened(options.spaces, report)
        beside = _beside(opened, options, report)
    most = options.top or (EXPORTED if options.export else None)
    explorer = _explorer(opened, beside, tour, most=most, near=options.neighborhoods)
    if options.export is None:
        _serve(explorer, options.port, open=options.open)
    else:
        _export(explorer, options.export, options.sentence)


def _export(explorer: Explorer, path: Path, sentences: tuple[str, ...]) -> None:
    from inlaid import files
    from inlaid.view.explorer.export import export

    with drawn() as report:
        files.write_text(path, export(explorer, sentences, report))
    size = path.stat().st_size / 1e6
    print(Message("{path}: one page, {size:,.1f} MB, works without a network", path=path, size=size))


def _check_export(path: Path | None, *, overwrite: bool) -> None:
    from inlaid import places

    if path is None:
        return
    if path.suffix.lower() not in (".html", ".htm"):
        raise SettingError("{path}: a page is written as .html.", path=path)
    places.check_replaceable(path, overwrite=overwrite)


def _opened(typed: tuple[str, ...], report: Report) -> tuple[Spaces, dict[str, Any] | None]:
    """What was named; without any names, the models of the guided tour."""
    from inlaid.view.spaces import Space, Spaces, load_spaces

    if typed:
        spaces = load_spaces(list(typed), report)
        tour = None
    else:
        from inlaid.tour.guide import guide, guided_models
        from inlaid.tour.models import models

        spaces = Spaces.of(guided_models(models(spoken_language(), report=report)))
        tour = guide(spoken_language())
    for each in list(spaces):
        if each.model is not None:
            with contextlib.suppress(SettingError):  # a model of characters has no table
                spaces.put(Space(f"{each.name}-input", each.model.input_vectors()))
    return spaces, tour


def _beside(spaces: Spaces, options: Options, report: Report) -> dict[str, Any]:
    """The corpora and translations that stand beside the spaces."""
    from inlaid.encode.corpus import open_corpus

    named = [each.name for each in spaces if each.vectors is not None and each.path is not None]
    if len(options.corpus) > len(named):
        raise SettingError(
            "{corpora} corpora are named for {spaces} files of vectors.",
            corpora=len(options.corpus),
            spaces=len(named),
        )
    paths = dict(zip(named, options.corpus, strict=False))
    corpora = {name: open_corpus(path) for name, path in paths.items()}
    translations = dict[str, Any]()
    if options.dictionary is not None:
        if len(named) != 2:
            raise SettingError(
                "A dictionary is for two files of vectors; {count} are named.", count=len(named)
            )
        translations = _joined(spaces, named, options.dictionary, report)
    return {
        "corpora": corpora,
        "corpus_paths": paths,
        "text": options.text,
        "translations": translations,
    }


def _joined(spaces: Spaces, named: list[str], dictionary: Path, report: Report) -> dict[str, Any]:
    """One space of both languages, and the pairs of the dictionary that are in it."""
    from inlaid.study.compare.align import align
    from inlaid.study.compare.dictionaries import source_first
    from inlaid.view.spaces import Space

    source, target = [spaces.find(name).vectors for name in named]
    assert source is not None
    assert target is not None
    joint = align(source, target, dictionary, report=report).joint((named[0], named[1]))
    name = f"{named[0]}+{named[1]}"
    spaces.put(Space(name, joint))
    found = list[tuple[int, int]]()
    for word, translation in source_first(dictionary, source, target, report):
        first = joint.words.find(word)
        second = joint.words.find(translation)
        if first is not None and second is not None and first != second:
            found.append((first, second))
    if not found:
        report(Note("No pair of the dictionary is on the map."))
    return {name: sorted(set(found), key=max)}


def _explorer(
    spaces: Spaces, beside: dict[str, Any], tour: dict[str, Any] | None, *, most: int | None, near: int
) -> Explorer:
    from inlaid.view.explorer.state import MOST, Explorer, Shown

    shown: Shown = Shown(most=most or MOST, neighborhoods=near, tour=tour, **beside)
    return Explorer(spaces, shown)


def _serve(explorer: Explorer, port: int, *, open: bool) -> None:
    from inlaid.view import server
    from inlaid.view.app import make_app
    from inlaid.view.explorer.routes import explorer_routes
    from inlaid.view.settings import ServeSettings

    settings = ServeSettings(port=port, access_log=False, reload=0.0)
    port = server.free_port(settings)
    settings = dataclasses.replace(settings, port=port)
    app = make_app(explorer.spaces, settings, routers=[explorer_routes(explorer)])
    address = f"http://127.0.0.1:{port}/"

    def opened() -> None:
        print(Message("Open {address} in a browser; Ctrl-C ends it.", address=address), flush=True)
        if open and sys.stdout.isatty():
            webbrowser.open(address)

    with _working(explorer):
        server.serve(app, explorer.spaces, settings, opened)


@contextlib.contextmanager
def _working(explorer: Explorer) -> Iterator[None]:
    """While the explorer lays out in the background."""
    explorer.start()
    try:
        yield
    finally:
        explorer.stop()
