"""ERNIE: BERT with a vector for the task added to every token (Sun et al. 2020)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from inlaid.neural.config import Config
from inlaid.neural.families.bert import Bert
from inlaid.neural.families.family import JSON
from inlaid.neural.families.names import Names

TASK_TYPES = 3


class Ernie(Bert):
    model_type = "ernie"
    also_read: ClassVar = (*Bert.also_read, "task_type_vocab_size", "use_task_id")
    classes: ClassVar = {"masked": "ErnieForMaskedLM", "none": "ErnieModel"}

    def read_more(self, raw: JSON) -> dict[str, Any]:
        uses_tasks = raw.get("use_task_id", False)
        return {
            **super().read_more(raw),
            "task_types": raw.get("task_type_vocab_size", TASK_TYPES) if uses_tasks else 0,
        }

    def write_more(self, config: Config) -> dict[str, Any]:
        return {
            **super().write_more(config),
            "use_task_id": config.task_types > 0,
            "task_type_vocab_size": config.task_types or TASK_TYPES,
        }

    def names(self, config: Config) -> Names:
        names = super().names(config).renamed("bert.", "ernie.")
        return replace(names, parts={**names.parts, "tasks": "ernie.embeddings.task_type_embeddings"})


ERNIE = Ernie()
