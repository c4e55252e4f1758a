"""The embedded world says what it promises: grammar, words, pairs, and a truth that real methods find."""

import itertools
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from random import Random

import numpy as np
import pytest
import rjieba
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.collect import grammar, world
from inlaid.errors import SettingError

ROOT = Path(__file__).parents[2]
HAN = re.compile(r"[\u4e00-\u9fff]+")


def english_words(sentence):
    return re.findall(r"[a-z]+", sentence.lower())


@pytest.fixture(scope="module")
def many():
    """More than 200,000 pairs."""
    return list(world.pairs(words=1_700_000, seed=11))


# ---- Words


def test_concepts_are_many_single_words_of_many_fields():
    concepts = world.concepts()
    assert len(concepts) >= 450
    assert len({concept.field for concept in concepts}) >= 30
    for concept in concepts:
        assert HAN.fullmatch(concept.zh)
        assert re.fullmatch(r"[A-Za-z]+", concept.en)


def test_dictionary_is_sorted_and_holds_every_chinese_word():
    dictionary = world.dictionary()
    assert list(dictionary) == sorted(set(dictionary))
    assert {concept.zh for concept in world.concepts()} <= set(dictionary)
    assert all(HAN.fullmatch(word) for word in dictionary)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_concept_occurs_in_300_000_words(language):
    if language == "zh":
        counts = Counter(itertools.chain.from_iterable(world.segmented(words=300_000, seed=4)))
    else:
        counts = Counter(w for s in world.sentences("en", words=300_000, seed=4) for w in english_words(s))
    rare = {getattr(c, language): counts[getattr(c, language).lower()] for c in world.concepts()}
    assert min(rare.values()) >= 30, sorted(rare.items(), key=lambda item: item[1])[:5]


# ---- Sentences


def test_same_seed_same_text_whatever_the_hash_seed():
    script = (
        "from inlaid.collect import world;"
        "truth = world.truth('en');"
        "print([p for p in world.pairs(words=3000, seed=7)], truth.groups, truth.analogies, truth.senses,"
        "truth.translations, truth.referents, truth.word_pairs, truth.sentence_pairs, truth.texts)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-X", "utf8", "-c", script],
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in (0, 12345)
    ]
    assert runs[0] == runs[1]


def test_another_seed_is_another_text():
    first, again, other = (list(world.pairs(words=2000, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_text_streams():
    assert next(world.pairs(words=10**12))
    assert next(world.sentences(words=10**12))
    assert next(world.segmented(words=10**12))


@settings(deadline=None, max_examples=30)
@given(words=st.integers(1, 3000), seed=st.integers(0, 2**31))
def test_stops_as_soon_as_enough_words_were_written(words, seed):
    lengths = [len(pair.en.split()) for pair in world.pairs(words=words, seed=seed)]
    assert sum(lengths) >= words > sum(lengths[:-1])


@settings(deadline=None, max_examples=30)
@given(words=st.integers(1, 2000), seed=st.integers(0, 2**31))
def test_both_alternates_the_sides_of_the_same_pairs(words, seed):
    both = list(world.sentences("both", words=words, seed=seed))
    expected = [side for pair in world.pairs(words=words, seed=seed) for side in (pair.zh, pair.en)]
    assert both == expected[: len(both)]
    assert len(both) % 2 == 0  # no sentence without its translation


def test_text_is_clean(many):
    for pair in many[:50_000]:
        assert re.fullmatch(r"[\u4e00-\u9fff，]+[。？！]", pair.zh), pair
        assert re.fullmatch(r"[A-Z][A-Za-z, ]+[.?!]", pair.en), pair
        assert not re.search(r"\ba [aeio]|\ban [^aeio]|  | ,", pair.en.lower()), pair


@pytest.mark.parametrize(
    "sentence",
    [
        "我打你。",
        "你打我。",
        "猫坐在垫子上。",
        "垫子坐在猫上。",
        "小明说他喜欢游泳。",
        "好久不见。",
        "虽然天气很冷，但我还是决定出门。",
        "这是一个红的苹果。",
        "这是一个绿的苹果。",
        "这是一个甜的苹果。",
        "这是一个便宜的苹果。",
        "我喜欢吃苹果。",
        "我喜欢苹果手机。",
        "I hit you.",
        "You hit me.",
        "The cat sits on the mat.",
        "The mat sits on the cat.",
        "Xiaoming says he likes swimming.",
        "Long time no see.",
        "I like to eat apples.",
        "I like Apple phones.",
    ],
)
def test_known_sentences_occur(many, sentence):
    assert any(sentence in (pair.zh, pair.en) for pair in many)


def test_importing_reads_nothing():
    script = (
        "import inlaid.collect.world, inlaid.collect.grammar as g;assert g.grammar.cache_info().currsize == 0"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("words", [0, -5])
def test_refuses_no_words(words):
    for write in (world.pairs, world.sentences, world.segmented):
        with pytest.raises(SettingError, match=f"words is {words}"):
            write(words=words)


@pytest.mark.parametrize("call", ["sentences('fr')", "truth('both')"])
def test_refuses_an_unknown_language(call):
    """In a process of its own, for here the tests' type checks would refuse it first."""
    script = f"from inlaid.collect import world; world.{call}"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "SettingError: The world has no language" in run.stderr
    assert "Choose one of: zh, en" in run.stderr


# ---- The two promises of the grammar: words one can cut, pairs one can decide


@pytest.fixture(scope="module")
def cut():
    """The word tokenizer's first step: the fewest words of the world's dictionary."""
    jieba = rjieba.Jieba.empty()
    for word in world.dictionary():
        jieba.add_word(word, 1000, "n")
    return lambda zh: tuple(piece for run in HAN.findall(zh) for piece in jieba.cut(run, hmm=False))


def test_every_word_is_one_token_in_drawn_sentences(cut):
    for intended in world.segmented(words=250_000, seed=21):
        assert cut("".join(intended)) == intended


def test_every_word_is_one_token_in_every_slot_it_may_fill(cut):
    rng = Random(0)
    for frame in grammar.grammar().frames:
        for variable in frame.variables:
            for filler in {filler.zh: filler for filler in variable.fillers}.values():
                zh, _ = grammar.write(frame, grammar.fill(frame, rng, {variable.name: filler}))
                assert cut(zh.replace(" ", "")) == tuple(t.strip("。，？！") for t in zh.split())


def test_no_sentence_has_two_translations(many):
    assert len(many) >= 200_000
    chinese = defaultdict(set)
    english = defaultdict(set)
    for pair in many:
        english[pair.zh].add(pair.en)
        chinese[pair.en.lower()].add(pair.zh)
    assert not [zh for zh, found in english.items() if len(found) > 1]
    assert not [en for en, found in chinese.items() if len(found) > 1]


def test_every_slot_and_choice_is_filled_in_both_languages():
    for frame in grammar.grammar().frames:
        assert frame.weight > 0
        assert not set("()|{}") & set(re.sub(r"{\d+}", "", frame.zh + frame.en))


def test_the_ten_lines_of_the_page_extend_the_world():
    page = (ROOT / "docs" / "world.md").read_text("utf-8")
    (block,) = re.findall(r"```text\n(\[pet\].*?)```", page, flags=re.DOTALL)
    text = (ROOT / "inlaid" / "collect" / "world.toml").read_text("utf-8")
    larger = grammar.parsed(f"{text}\n{block}")
    assert grammar.Concept("animal", "仓鼠", "hamster") in larger.concepts
    (frame,) = (frame for frame in larger.frames if frame.section == "pet")
    found = {grammar.write(frame, grammar.fill(frame, Random(seed))) for seed in range(400)}
    assert ("小明 的 仓鼠 喜欢 吃 瓜子。", "The hamster of Xiaoming likes to eat sunflower seeds.") in found


def test_choices_that_do_not_correspond_are_refused():
    text = (ROOT / "inlaid" / "collect" / "world.toml").read_text("utf-8")
    with pytest.raises(ValueError, match="choices of these lines do not correspond: 他 .* / He "):
        grammar.parsed(text.replace("looks (handsome|smart).", "looks handsome.", 1))


# ---- How it reads


def test_every_it_is_about_something_in_its_sentence(many):
    """No pronoun without an antecedent: the text has no `it` but that of the weather and no 它."""
    assert not any("它" in pair.zh for pair in many[:50_000])
    assert {pair.en.split(" it ")[1] for pair in many[:50_000] if " it " in pair.en} <= {
        "is very cold outside.",
        "is very wet outside.",
    }


def test_people_of_different_walks_do_not_talk_to_each_other():
    """Kings talk to queens and fathers to mothers: a sentence does not mix stories and the family."""
    sides = {
        concept.zh: concept.field
        for concept in world.concepts()
        if concept.field in ("royalty", "family", "people")
    }
    for pair in itertools.islice(world.segmented(words=200_000, seed=5), 20_000):
        assert len({sides[word] for word in pair if word in sides}) <= 1, pair


# ---- The truth


def test_senses_are_those_intended():
    words = {language: {a.word for a in world.truth(language).senses} for language in ("zh", "en")}
    assert words["zh"] == {"苹果", "小米", "黑莓", "亚马逊", "杜鹃"}
    assert words["en"] == {
        "apple",
        "bank",
        "mouse",
        "crane",
        "turkey",
        "cricket",
        "orange",
        "blackberry",
        "amazon",
    }


@pytest.mark.parametrize("language", ["zh", "en"])
def test_senses_come_with_sentences_and_indicators(language):
    for ambiguity in world.truth(language).senses:
        fields = [sense.field for sense in ambiguity.senses]
        assert len(set(fields)) == len(fields) >= 2
        for sense in ambiguity.senses:
            assert len(sense.usages) >= 15
            assert len(sense.indicators) >= 5
            for usage in sense.usages:
                assert usage.sentence.lower().count(ambiguity.word) == 1
                assert usage.sentence[slice(*usage.span)].lower() == ambiguity.word


@pytest.mark.parametrize("language", ["zh", "en"])
def test_analogies_are_parallel_and_not_too_many(language):
    analogies = world.truth(language).analogies
    assert 200 <= len(analogies) <= 700
    assert len({analogy.relation for analogy in analogies}) >= 5
    for a in analogies:
        assert len({a.a, a.b, a.c, a.d}) == 4
    words = {word for group in world.truth(language).groups for word in group.words}
    assert {word for a in analogies for word in (a.a, a.b, a.c, a.d)} <= words


def test_known_analogies_hold():
    pairs_of = {(a.relation, a.a, a.b) for language in ("zh", "en") for a in world.truth(language).analogies}
    for known in [
        ("gender", "king", "queen"),
        ("gender", "国王", "王后"),
        ("capital", "中国", "北京"),
        ("tense", "walk", "walked"),
        ("comparative", "big", "bigger"),
        ("young", "猫", "小猫"),
    ]:
        assert known in pairs_of


@pytest.mark.parametrize("language", ["zh", "en"])
def test_referents_are_decided_by_the_pronoun_and_not_by_the_order(language):
    referents = world.truth(language).referents
    assert len(referents) >= 100
    first = 0
    for found in referents:
        pronoun, referent, other = (
            found.sentence[slice(*span)] for span in (found.pronoun, found.referent, found.other)
        )
        assert pronoun in {"zh": "他她", "en": ("he", "she")}[language]
        assert len({pronoun, referent, other}) == 3
        first += found.referent < found.other
    assert first == len(referents) / 2


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_referent_is_seen_alone_with_its_pronoun_only(many, language):
    """So that a question is decidable: the text says who is a he and who is a she."""
    told = defaultdict(Counter)
    patterns = {person: re.compile(PERSON[language].format(person)) for person in people(language)}
    for pair in many[:60_000]:
        sentence = pair.zh if language == "zh" else pair.en
        pronouns = re.findall("[他她](?!们)" if language == "zh" else r"\bs?he\b", sentence)
        if len(pronouns) != 1:
            continue
        for person, pattern in patterns.items():
            if pattern.search(sentence):
                told[person][pronouns[0]] += 1
    for found in world.truth(language).referents:
        (pronoun,) = told[found.sentence[slice(*found.referent)]]
        assert pronoun == found.sentence[slice(*found.pronoun)]


PERSON = {"zh": "^(那.)?(我的)?{}(说他|说她|觉得)", "en": r"(?i)^(The |My )?{} (says|thinks) s?he\b"}


def people(language):
    return {
        found.sentence[slice(*span)]
        for found in world.truth(language).referents
        for span in (found.referent, found.other)
    }


def test_translations_are_the_words_of_the_concepts():
    for language in ("zh", "en"):
        assert set(world.truth(language).translations) == {
            world.Pair(concept.zh, concept.en.lower()) for concept in world.concepts()
        }


# ---- What a real method finds


class Space:
    """PPMI (context smoothing 0.75, window 5) cut to 140 dimensions, singular values to the power 0.5."""

    def __init__(self, sentences):
        sizes = [len(tokens) for tokens in sentences]
        counts = Counter(token for tokens in sentences for token in tokens)
        self.words = [word for word, count in counts.most_common() if count >= 5]
        self.ids = {word: n for n, word in enumerate(self.words)}
        ids = np.array([self.ids.get(token, -1) for tokens in sentences for token in tokens])
        sentence = np.repeat(np.arange(len(sizes)), sizes)[ids >= 0]
        ids = ids[ids >= 0]
        cells = np.zeros((len(self.words), len(self.words)))
        for distance in range(1, 6):
            together = sentence[distance:] == sentence[:-distance]
            np.add.at(cells, (ids[:-distance][together], ids[distance:][together]), 1)
        cells += cells.T
        totals = cells.sum(1)
        smoothed = totals**0.75 / (totals**0.75).sum()
        with np.errstate(divide="ignore"):
            ppmi = np.maximum(np.log(cells / totals[:, None] / smoothed), 0)
        left, values, _ = np.linalg.svd(ppmi, full_matrices=False)
        table = left[:, :140] * values[:140] ** 0.5
        self.table = table / np.linalg.norm(table, axis=1, keepdims=True)

    def __getitem__(self, word):
        return self.table[self.ids[word]]

    def first(self, vector, *without):
        scores = self.table @ vector
        scores[[self.ids[word] for word in without]] = -np.inf
        return self.words[int(scores.argmax())]


@pytest.fixture(scope="module", params=["zh", "en"])
def trained(request):
    if request.param == "zh":
        return request.param, Space(list(world.segmented(words=300_000, seed=3)))
    return request.param, Space([english_words(s) for s in world.sentences("en", words=300_000, seed=3)])


def test_first_neighbor_is_of_the_same_field(trained):
    language, space = trained
    fields = defaultdict(set)
    for group in world.truth(language).groups:
        for word in group.words:
            fields[word].add(group.field)
    words = {getattr(concept, language).lower() for concept in world.concepts()}
    found = [bool(fields[word] & fields[space.first(space[word], word)]) for word in words]
    assert np.mean(found) >= 0.9


def test_analogies_are_solved(trained):
    language, space = trained
    analogies = world.truth(language).analogies
    solved = [space.first(space[x.b] - space[x.a] + space[x.c], x.a, x.b, x.c) == x.d for x in analogies]
    assert np.mean(solved) >= 0.75


def test_banana_is_near_the_monkey_and_far_from_atomic_energy(trained):
    language, space = trained
    banana, near, far = {
        "zh": ("香蕉", ["猴子", "黄色", "甜", "水果"], "原子能"),
        "en": ("banana", ["monkey", "yellow", "sweet", "fruit"], "uranium"),
    }[language]
    for word in near:
        assert space[banana] @ space[word] > space[banana] @ space[far] + 0.05
