"""`inlaid serve`: vectors and models for programs, over HTTP."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import Positional

from inlaid.commands.options import config_values, flagged, values_of_group
from inlaid.commands.parsing import parse
from inlaid.config import settings_of
from inlaid.errors import need
from inlaid.messages import Message
from inlaid.progress import drawn

SPACES_HELP = "files of vectors and folders of models; NAME=PATH gives one a name of its own"


def serve_command(words: list[str]) -> None:
    """Serve vectors and models to programs, over HTTP."""
    for module in ("fastapi", "orjson", "uvicorn"):
        need(module, extra="serve")
    from inlaid.view import server
    from inlaid.view.app import make_app
    from inlaid.view.settings import ServeSettings
    from inlaid.view.spaces import load_spaces

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
    keys = server.read_keys(chosen.keys)
    with drawn() as report:
        spaces = load_spaces(list(options.spaces), report, device=options.device)
    app = make_app(spaces, chosen, keys=keys)
    opened = server.listen(chosen)
    host, port = opened.getsockname()[:2]
    names = ", ".join(each.name for each in spaces)
    print(Message("Serving {names} at http://{host}:{port}", names=names, host=host, port=port), flush=True)
    server.serve(app, opened)
