"""`inlaid serve`: vectors and models for programs, over HTTP."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import Positional

from inlaid.commands import workers
from inlaid.commands.options import config_values, flagged, values_of_group
from inlaid.commands.parsing import parse
from inlaid.config import settings_of
from inlaid.errors import need
from inlaid.messages import Listed, Message
from inlaid.progress import drawn

if TYPE_CHECKING:
    from inlaid.view.settings import ServeSettings

SPACES_HELP = "files of vectors and folders of models; NAME=PATH gives one a name of its own"


def serve_command(words: list[str]) -> None:
    """Serve vectors and models to programs, over HTTP."""
    from inlaid.view.settings import ServeSettings

    arg = tyro.conf.arg
    settings = flagged(settings_of(ServeSettings, config_values(words)))
    fields: list[Any] = [
        ("spaces", Annotated[Positional[tuple[str, ...]], arg(metavar="PATH...", help=SPACES_HELP)]),
        ("device", Annotated[str, arg(help="where a model computes: cpu, cuda, cuda:1, mps")], "cpu"),
        ("config", Annotated[Path | None, arg(help="a TOML file of settings; flags override it")], None),
        ("settings", tyro.conf.OmitArgPrefixes[type(settings)], dataclasses.field(default=settings)),
    ]
    kind = dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)
    options: Any = parse(kind, words, "inlaid serve", serve_command.__doc__)
    chosen = ServeSettings(**values_of_group(options.settings))
    for module in ("fastapi", "granian", "orjson", "uvloop"):
        need(module, extra="serve")
    from inlaid.view.server import free_port

    chosen = dataclasses.replace(chosen, port=free_port(chosen))
    workers.run(
        chosen.workers, lambda number: _serve(list(options.spaces), options.device, chosen, first=not number)
    )


def _serve(typed: list[str], device: str, settings: ServeSettings, *, first: bool) -> None:
    """Load, warm up, and answer, in one process."""
    from inlaid.blas import blas_threads
    from inlaid.view import server
    from inlaid.view.app import make_app
    from inlaid.view.spaces import load_spaces

    keys = server.read_keys(settings.keys)
    with drawn() as report:
        spaces = load_spaces(typed, report, device=device)
        server.warm_up([*spaces], settings)
    app = make_app(spaces, settings, keys=keys)
    where = Message(
        "Serving {names} at http://{host}:{port}",
        names=Listed(each.name for each in spaces),
        host=settings.host,
        port=settings.port,
    )
    with blas_threads(max(1, (os.cpu_count() or 1) // settings.workers)):
        server.serve(app, spaces, settings, lambda: print(where, flush=True) if first else None)
