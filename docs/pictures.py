"""Redraw the pictures of the docs: maps of the embedded world, and those of the pages on networks."""

from __future__ import annotations

from pathlib import Path

import model_pictures
import part_pictures
import torch
from drawing import draw, draw_registered

import inlaid
from inlaid import registry
from inlaid.collect import world
from inlaid.encode.corpus import Encoding
from inlaid.messages import Language

FOLDER = Path(__file__).parent / "pictures"
WORDS: dict[Language, str] = {
    "en": "cat dog apple orange king queen man woman",
    "zh": "猫 狗 苹果 橙子 国王 王后 男人 女人",
}

README_WORDS: dict[Language, str] = {
    "en": "apple banana pear grape cat dog horse rabbit king queen prince princess "
    "beijing tokyo paris london doctor teacher nurse farmer",
    "zh": "苹果 香蕉 梨 葡萄 猫 狗 马 兔子 国王 王后 王子 公主 北京 东京 巴黎 伦敦 医生 老师 护士 农民",
}


def readme_map(language: Language) -> None:
    """The map of the READMEs, of the vectors that their commands train."""
    text = list(inlaid.world.sentences(language, words=300_000))
    words = inlaid.world.dictionary() if language == "zh" else ()
    vectors = inlaid.train(text, "sgns", epochs=10, dictionary=words, force_dictionary=bool(words))
    drawn = inlaid.map_words(vectors, README_WORDS[language].split(), perplexity=4)
    inlaid.draw_map(drawn, FOLDER / f"readme-map-{language}.png", overwrite=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    for language, vectors in inlaid.demo().items():
        inlaid.draw_map(
            inlaid.map(vectors, WORDS[language].split(), perplexity=2),
            FOLDER / f"map-{language}.png",
            overwrite=True,
        )
        clusters = inlaid.map(vectors, method="pca", top=150, color="cluster", clusters=6)
        inlaid.draw_map(clusters, FOLDER / f"map-clusters-{language}.png", overwrite=True)
        encoding = Encoding()
        if language == "zh":
            encoding = Encoding(dictionary=world.dictionary(), force_dictionary=True)
        corpus = inlaid.corpus(world.sentences(language, words=100_000), encoding=encoding)
        six = WORDS[language].split()[:6]
        picture = FOLDER / f"ppmi-{language}.png"
        inlaid.cooccurrence(corpus, six, n=12, ppmi=True, output=picture, overwrite=True)
    for language in WORDS:
        readme_map(language)
        for picture, size in (part_pictures.PICTURES | model_pictures.PICTURES).items():
            draw(FOLDER / f"{picture.__name__}-{language}.png", language, size, picture)
        for entry in registry.entries("picture"):
            draw_registered(FOLDER / f"draw-{entry.name}-{language}.png", language, entry.name)
    draw(FOLDER / "minilm.png", "en", (8.4, 4.5), model_pictures.minilm)
