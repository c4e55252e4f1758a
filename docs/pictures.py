"""Draw the maps of the documents again, from the embedded world."""

from __future__ import annotations

from pathlib import Path

import inlay

FOLDER = Path(__file__).parent / "pictures"
WORDS = {
    "en": "cat dog apple orange king queen man woman",
    "zh": "猫 狗 苹果 橙子 国王 王后 男人 女人",
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for language, vectors in inlay.demo().items():
        inlay.draw_map(inlay.map_words(vectors, WORDS[language].split(), perplexity=2), FOLDER / f"map-{language}.png")
