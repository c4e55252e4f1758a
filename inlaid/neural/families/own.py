"""Inlaid's own folders, for networks that no other tool has a name for; our names, our config."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inlaid.encode.subwords.loading import of_model
from inlaid.errors import FormatError, InlaidError
from inlaid.formats import huggingface
from inlaid.formats.huggingface import Folder
from inlaid.neural.config import Config, make_config
from inlaid.neural.families.family import JSON, Family, Loaded
from inlaid.neural.families.names import Names


class Own(Family):
    model_type = "inlaid"

    def read(self, raw: JSON) -> Config:
        try:
            return make_config(raw["config"])
        except (InlaidError, TypeError, ValueError, OverflowError, AttributeError, KeyError) as error:
            raise FormatError("config.json: its config cannot be read. {reason}", reason=error) from None

    def write(self, config: Config) -> dict[str, Any]:
        return {"model_type": self.model_type, "config": dataclasses.asdict(config)}

    def fits(self, config: Config) -> bool:
        return True

    def names(self, config: Config) -> Names:
        return Names(
            prefix="",
            parts={},
            input_table="tokens.weight",
            output_table="head.output.table" if config.head.kind == "masked" else "head.table",
            target_table="target_tokens.weight" if config.target_vocab_size else "",
        )

    def config_by_tensors(self, config: Config, folder: Folder) -> Config:
        return config  # it is complete

    def load(self, path: Path, *, tied: bool | None) -> Loaded:
        folder = huggingface.open_folder(path)
        tensors = {name: folder.read(name) for name in folder.tensors}
        return Loaded(self.read(folder.config), tensors)

    def tensors_to_write(self, config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
        return dict(tensors)

    def read_tokenizer(self, path: Path, config: Config) -> Any:
        return of_model(path, reads_both_ways=config.kind == "encoder")


OWN = Own()
