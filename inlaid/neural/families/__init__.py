"""Model families: config.json <-> Config, by the registry; one file for each family"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from inlaid import registry
from inlaid.errors import UnknownName, did_you_mean
from inlaid.formats import huggingface

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
            "config.json: model_type is {found!r}; supported are {known}.{hint}",
            found=found,
            known=", ".join(known),
            hint=did_you_mean(str(found), known),
        )
    return known[found]


def family_of(path: Path) -> Family:
    """The family of a folder, or of a config.json alone."""
    for family in all_families().values():
        if path.is_dir() and family.recognizes(path):
            return family
    return find_family(huggingface.read_config(path))


def read_config(raw: JSON) -> Config:
    """The config that a parsed config.json describes."""
    return find_family(raw).read(raw)


def family_for(config: Config) -> Family:
    """The first family whose config.json can express `config`; Inlaid's own is last and can express all."""
    return next(family for family in all_families().values() if family.fits(config))


def write_config(config: Config) -> dict[str, Any]:
    """The config.json of a config, in the terms of the family it belongs to."""
    return family_for(config).write(config)
