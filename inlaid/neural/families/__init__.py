"""Model families: config.json <-> Config, by the registry; one file for each family"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from inlaid import registry
from inlaid.errors import UnknownName
from inlaid.formats import huggingface
from inlaid.messages import Listed, Message
from inlaid.neural.families.nearest import NEAREST

if TYPE_CHECKING:
    from inlaid.neural.config import Config
    from inlaid.neural.families.family import JSON, Family


def all_families() -> dict[str, Family]:
    """Name -> family, in the order of the registry."""
    return {entry.name: entry.load() for entry in registry.entries("family")}


def find_family(raw: JSON) -> Family:
    """The family of a config.json; an error names the model types there are."""
    found = raw.get("model_type")
    known = {name: family for name, family in all_families().items() if family.has_config_json}
    if not isinstance(found, str) or found not in known:
        raise UnknownName(
            "config.json: model_type is {found!r}; supported are {known}. Another model type is another "
            "network, even if its name is similar.{nearest}",
            found=found,
            known=Listed(known),
            nearest=_nearest(found),
        )
    return known[found]


def _nearest(found: Any) -> Message:
    """What to use instead of a model type that is known and not built."""
    nearest = NEAREST.get(found) if isinstance(found, str) else None
    if nearest is None:
        return Message("")
    return Message(
        " The nearest that works is {model_type}, for example {model}.",
        model_type=nearest.model_type,
        model=nearest.model,
    )


def family_of(path: Path) -> Family:
    """The family of a folder, or of a config.json alone."""
    for family in all_families().values():
        if path.is_dir() and family.recognizes(path):
            return family
    return find_family(huggingface.read_config(path))


def read_config(raw: JSON) -> Config:
    """The config that a parsed config.json describes."""
    return find_family(raw).read(raw)


def family_for(config: Config, *, preferred: Any = None) -> Family:
    """The first family whose config.json can express `config`; Inlaid's own is last and can express all.

    Some can express the same network: of those the `preferred` model type is taken, if it is among them.
    """
    families = all_families()
    if preferred in families and families[preferred].fits(config):
        return families[preferred]
    return next(family for family in families.values() if family.fits(config))


def write_config(config: Config, *, preferred: Any = None) -> dict[str, Any]:
    """The config.json of a config, in the terms of the family it belongs to."""
    return family_for(config, preferred=preferred).write(config)
