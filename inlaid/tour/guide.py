"""Guide: the steps of the explorer's guided tour, each with the view it shows; from `content.toml`."""

from __future__ import annotations

import importlib.util
from typing import Any

from inlaid.messages import LANGUAGES, Language
from inlaid.tour.content import asked, guide_steps, joined
from inlaid.tour.models import Models

NAMES = {"masked": "bert", "translation": "translation"}
"""What the networks are called in the explorer."""


def guide(language: Language) -> dict[str, Any]:
    """The steps, told in both languages about the words of one; those that need torch only where it is."""
    questions = asked(language)
    words = {
        "word": questions.near[0],
        "analogy": questions.analogy,
        "sentence": questions.translate,
        "blank": questions.blank,
    }
    networks = importlib.util.find_spec("torch") is not None
    steps = [
        {
            "name": each["name"],
            "title": each["title"],
            "text": {told: joined(each[told], told).format(**words) for told in LANGUAGES},
            "view": {name: value.format(**words) for name, value in each["view"].items()},
        }
        for each in guide_steps()
        if networks or "needs" not in each
    ]
    return {"steps": steps}


def guided_models(models: Models) -> dict[str, Any]:
    """What the guided tour shows, by the names of its spaces."""
    shown: dict[str, Any] = {"world": models.sgns}
    if importlib.util.find_spec("torch") is not None:
        shown |= {name: models[generation] for generation, name in NAMES.items()}
    return shown
