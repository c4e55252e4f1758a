"""`inlaid demo`: four generations of word vectors on the same text and questions, in both languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inlaid.commands.terminal import print_rows
from inlaid.errors import OutOfVocabulary
from inlaid.messages import Language, Message, spoken_language
from inlaid.progress import drawn
from inlaid.report import Progress, Report

if TYPE_CHECKING:
    from inlaid.vectors import Vectors

SHOWN = 5
"""Neighbors shown of each word."""


@dataclass(frozen=True)
class Questions:
    """What the demo asks in one language, and the words around it."""

    title: str
    methods: Mapping[str, str]
    """Method -> how it is called in this language."""
    words: tuple[str, ...]
    analogies: tuple[str, ...]
    unseen: str
    """A word that the text does not have."""
    nearest: str
    not_in_text: str
    equally_far: str
    no_vector: str
    next_steps: str
    guided: str


QUESTIONS: dict[Language, Questions] = {
    "en": Questions(
        title="English",
        methods={"onehot": "one-hot", "ppmi": "PPMI", "sgns": "Word2Vec", "fasttext": "fastText"},
        words=("banana", "happy"),
        analogies=("king - man + woman", "beijing - china + japan"),
        unseen="bananna",
        nearest="nearest to {word}",
        not_in_text="{word} (not in the text)",
        equally_far="all other words are equally far: cosine 0",
        no_vector="no vector: out of vocabulary",
        next_steps="Next, on your own text:",
        guided="See this world in a browser, with a guided tour (pip install 'inlaid[explore]'):",
    ),
    "zh": Questions(
        title="中文",
        methods={"onehot": "one-hot", "ppmi": "PPMI", "sgns": "Word2Vec", "fasttext": "fastText"},
        words=("香蕉", "高兴"),
        analogies=("国王 - 男人 + 女人", "北京 - 中国 + 法国"),
        unseen="香蕉汁",
        nearest="与“{word}”最近的词",
        not_in_text="“{word}”（文本中没有的词）",
        equally_far="与其他词的余弦都是 0，一样远",
        no_vector="没有向量：未登录词",
        next_steps="接下来，用自己的文本：",
        guided="在浏览器中查看这个世界，附导览（pip install 'inlaid[explore]'）：",
    ),
}
SETTINGS: dict[Language, dict[str, dict[str, Any]]] = {
    "en": {
        "ppmi": {"dim": 150},
        "sgns": {"epochs": 10},
        "fasttext": {"epochs": 10, "buckets": 50_000},
    },
    "zh": {
        "ppmi": {"dim": 150},
        "sgns": {"epochs": 10},
        "fasttext": {"epochs": 10, "buckets": 50_000, "min_n": 1, "max_n": 3},
    },
}
"""The demo's text is small: a few more epochs than by default. Its relations are many: the SVD of PPMI drops
those of countries before dimension 120. Chinese words are short, so n-grams start at one character."""


def demo_command(words: int = 200_000, seed: int = 1) -> None:
    """Train four generations of word vectors on the embedded world and ask them the same questions.

    Args:
        words: how many words of text to write, in each language
        seed: another seed, another text
    """
    languages: tuple[Language, ...] = ("zh", "en") if spoken_language() == "zh" else ("en", "zh")
    with drawn() as report:
        spaces = {
            language: vectors_of(language, words=words, seed=seed, report=report) for language in languages
        }
    for language in languages:
        print_rows([f"\n{QUESTIONS[language].title}", *_answers(QUESTIONS[language], spaces[language])])
    first = QUESTIONS[languages[0]]
    print_rows(
        [
            f"\n{first.next_steps}",
            "  inlaid train sgns TEXT.txt -o my.inlaid",
            f"  inlaid neighbors my.inlaid {first.words[0]}",
            "  inlaid map my.inlaid -o map.html",
            "  inlaid explore my.inlaid",
            f"\n{first.guided}",
            "  inlaid explore",
        ]
    )


def vectors_of(language: Language, *, words: int, seed: int, report: Report) -> dict[str, Vectors]:
    """Vectors of each method, all learned from the same corpus."""
    from inlaid import pipeline
    from inlaid.collect import world

    names = tuple(QUESTIONS[language].methods)
    chinese = {"dictionary": world.dictionary(), "force_dictionary": True} if language == "zh" else {}
    corpus = pipeline.corpus(world.sentences(language, words=words, seed=seed), report=report, **chinese)
    made: dict[str, Vectors] = {}
    stage = str(Message("methods ({language})", language=language))
    for number, name in enumerate(names):
        report(Progress(stage, number, len(names), "methods"))
        made[name] = pipeline.train(corpus, name, report=report, **SETTINGS[language].get(name, {}))
    report(Progress(stage, len(names), len(names), "methods"))
    return made


def _answers(asked: Questions, spaces: Mapping[str, Vectors]) -> list[str | tuple[str, ...]]:
    from inlaid.study.search.analogy import analogy
    from inlaid.study.search.neighbors import neighbors

    rows: list[str | tuple[str, ...]] = []

    def ask(title: str, question: Callable[..., Iterable[Any]], about: str, shown: int) -> None:
        rows.append(f"  {title}")
        for method, vectors in spaces.items():
            try:
                answer = _listed(asked, question(vectors, about, n=shown))
            except OutOfVocabulary:  # a short text may lack any word
                answer = asked.no_vector
            rows.append((f"    {asked.methods[method]}", answer))

    for word in asked.words:
        ask(asked.nearest.format(word=word), neighbors, word, SHOWN)
    for formula in asked.analogies:
        ask(formula, analogy, formula, 3)
    ask(asked.not_in_text.format(word=asked.unseen), neighbors, asked.unseen, SHOWN)
    return rows


def _listed(asked: Questions, found: Iterable[Any]) -> str:
    answers = list(found)
    if all(abs(each.score) < 1e-6 for each in answers):
        return asked.equally_far
    return "  ".join(f"{each.word} {each.score:.2f}" for each in answers)
