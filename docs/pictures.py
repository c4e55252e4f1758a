"""Redraw the pictures of the docs: maps of the embedded world, and those of the pages on networks."""

from __future__ import annotations

from pathlib import Path

import model_pictures
import part_pictures
import torch
from drawing import draw, draw_registered

import inlaid
from inlaid import registry
from inlaid.messages import Language

FOLDER = Path(__file__).parent / "pictures"
WORDS: dict[Language, str] = {
    "en": "cat dog apple orange king queen man woman",
    "zh": "猫 狗 苹果 橙子 国王 王后 男人 女人",
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    for language, vectors in inlaid.demo().items():
        inlaid.draw_map(
            inlaid.map_words(vectors, WORDS[language].split(), perplexity=2),
            FOLDER / f"map-{language}.png",
            overwrite=True,
        )
    for language in WORDS:
        for picture, size in (part_pictures.PICTURES | model_pictures.PICTURES).items():
            draw(FOLDER / f"{picture.__name__}-{language}.png", language, size, picture)
        for entry in registry.entries("picture"):
            draw_registered(FOLDER / f"draw-{entry.name}-{language}.png", language, entry.name)
    draw(FOLDER / "minilm.png", "en", (8.4, 4.5), model_pictures.minilm)
