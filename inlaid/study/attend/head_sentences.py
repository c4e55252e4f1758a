"""The sentences that heads are measured on: the world's or a text's, random sequences repeated, relations.

The encoder, and a decoder by itself, read these sentences. The decoder of a seq2seq reads what the model
makes of them (`pair_heads`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from inlaid.collect import world
from inlaid.encode.tokenizers import Word
from inlaid.errors import SettingError
from inlaid.messages import LANGUAGES, Language, Listed
from inlaid.report import Note, Progress, Report, silent
from inlaid.study.attend.named_heads import HeadsSettings
from inlaid.study.attend.pair_heads import measured_cross, measured_decoder, readable, translated
from inlaid.study.attend.patterns import Link, Measured, Sentence, measured_links, measured_places
from inlaid.study.attend.reading import Reading, is_punctuation, read_text
from inlaid.study.attend.relations import Linked, relations
from inlaid.study.attend.weights import PARTS, Part, run
from inlaid.study.use.encoding import UNKNOWN, token_id
from inlaid.study.use.texts import texts_of

if TYPE_CHECKING:
    from inlaid.neural.model import Model

WORLD = "world"
SHORTEST = 6
LONGEST = 14
"""Tokens of a random sequence that is repeated: its lengths vary, so that a fixed distance does not hit."""


class HeadSentences:
    """The sentences that the heads of one part of a model are measured on."""

    def __init__(self, model: Model, settings: HeadsSettings, text: str, report: Report) -> None:
        self.model = model
        self.settings = settings
        self.text = text
        self.report = report
        self.part: Part = _part_of(model, settings.part)
        self.unknown = {token_id(model.tokenizer, name) for name in UNKNOWN} - {None}
        self.words = Word(dictionary=world.dictionary(), force_dictionary=True)
        self.asked: tuple[Language, ...] = LANGUAGES
        if settings.language != "both":
            self.asked = (settings.language,)
        self.done = 0

    def measured(self) -> list[Measured]:
        """Every pattern that this part can be asked about, on the sentences that have it."""
        if self.model.config.kind == "seq2seq" and self.part != "encoder":
            return self._of_decoder()
        sentences = self._sentences()
        found = measured_places(sentences)
        asked = [(name, "", links) for name, links in self._repeated(sentences).items()]
        if self.text == WORLD:
            asked += self._relations()
        found += filter(None, (measured_links(*each) for each in asked))
        return found

    def _of_decoder(self) -> list[Measured]:
        count = self.settings.sentences
        lines = itertools.islice(self._lines(), 50 * count)
        sentences = translated(self.model, readable(lines, self._read), count, self.words, self.report)
        if self.part == "decoder":
            return measured_decoder(sentences)
        return measured_cross(sentences, aligned=self.text == WORLD, seed=self.settings.seed)

    # --- sentences

    def _read(self, text: str) -> Reading | None:
        """The sentence, if the model knows all its tokens."""
        try:
            reading = read_text(self.model, text, silent, tokenizer=self.words)
        except SettingError:  # unknown to the tokenizer as a whole, or too long
            return None
        return None if self.unknown & set(reading.ids) else reading

    def _weights(self, reading: Reading) -> np.ndarray:
        self.done += 1
        self.report(Progress("measuring", self.done, None, "sentences"))
        return run(self.model, reading, None)[self.part]

    def _lines(self) -> Iterator[str]:
        if self.text != WORLD:
            yield from texts_of((), Path(self.text), "text", self.report)
            return
        sides = [world.sentences(each, words=100_000, seed=self.settings.seed) for each in self.asked]
        for together in zip(*sides, strict=False):
            yield from together

    def _sentences(self) -> list[Sentence]:
        found: list[Sentence] = []
        left_out = 0
        lines = (line for line in self._lines() if line.strip())
        for line in dict.fromkeys(itertools.islice(lines, 50 * self.settings.sentences)):
            reading = self._read(line)
            if reading is None or len(reading.ids) < 3:
                left_out += 1
                continue
            special = reading.special[reading.groups]
            delimiter = special | np.array([is_punctuation(token) for token in reading.tokens])
            weights = self._weights(reading)
            found.append(Sentence(line, weights, special, delimiter, self.part == "decoder"))
            if len(found) == self.settings.sentences:
                break
        if left_out:
            self.report(
                Note(
                    "{count:,} sentences are left out: they have tokens unknown to this model, or too few or "
                    "too many.",
                    count=left_out,
                )
            )
        if not found:
            raise SettingError("This model can read no sentence of the text. Give a text of its language.")
        return found

    # --- random sequences, repeated

    def _repeated(self, sentences: Sequence[Sentence]) -> dict[str, list[Link]]:
        """Random tokens of the text, the same ones again: what follows a token the first time follows it the
        second time, and no word or grammar says so (Olsson et al. 2022)."""
        reading = self._read(sentences[0].text)
        assert reading is not None
        added = reading.special[reading.groups]
        own = np.flatnonzero(~added)
        before = [reading.ids[place] for place in range(int(own[0]))]
        after = [reading.ids[place] for place in range(int(own[-1]) + 1, len(reading.ids))]
        ids = self._plain_ids(sentences)
        limit = self.model.config.max_length
        longest = LONGEST if limit is None else min(LONGEST, (limit - len(before) - len(after)) // 2)
        longest = min(longest, len(ids))
        if longest < SHORTEST:
            return {}
        rng = Random(self.settings.seed)
        found: dict[str, list[Link]] = {"same word": [], "induction": []}
        for _ in range(self.settings.sentences):
            length = SHORTEST + int(rng.random() * (longest - SHORTEST + 1))
            drawn = sorted(ids, key=lambda _: rng.random())[:length]
            sequence = [*before, *drawn, *drawn, *after]
            weights = self._weights(_of_ids(self.model, sequence))
            for name, distance in (("same word", -length), ("induction", 1 - length)):
                found[name].append(self._link(drawn, weights, len(before), distance))
        return found

    def _plain_ids(self, sentences: Sequence[Sentence]) -> list[int]:
        """The tokens of the text, without special ones and punctuation, in a fixed order."""
        found: dict[int, None] = {}
        for sentence in sentences:
            reading = self._read(sentence.text)
            assert reading is not None
            found.update(
                (id, None) for id, ends in zip(reading.ids, sentence.delimiter, strict=True) if not ends
            )
        return sorted(found)[:2000]

    def _link(self, drawn: list[int], weights: np.ndarray, start: int, distance: int) -> Link:
        """The second time, from its second token: the first one may follow anything."""
        length = len(drawn)
        places = np.arange(start + length, start + 2 * length)
        last = places if self.part == "decoder" else np.full(len(places), start + 2 * length - 1)
        tokens = [self.model.tokenizer.id_to_token(id) for id in drawn]
        text = " ".join(map(str, (*tokens, *tokens)))
        shown = f"{tokens[1]} → {tokens[1 if distance == -length else 2]}"
        return Link(text, shown, weights[:, :, places], places, start, last, distance)

    # --- relations of the world

    def _relations(self) -> list[tuple[str, str, list[Link]]]:
        """For each relation and language the links that this model can read."""
        found: list[tuple[str, str, list[Link]]] = []
        for language in self.asked:
            known = relations(language, self.settings.sentences, self.settings.seed)
            for name, linked in known.items():
                links = [link for each in linked if (link := self._word_link(each)) is not None]
                found.append((name, language, links))
        return found

    def _word_link(self, linked: Linked) -> Link | None:
        """The attention between words; None if the model cannot read the sentence, or see the key."""
        reading = self._read(linked.sentence)
        if reading is None:
            return None
        query = _word_at(reading, linked.query)
        key = _word_at(reading, linked.key)
        causal = self.part == "decoder"
        if query is None or key is None or query == key or (causal and key > query):
            return None
        rows = reading.merged_rows(reading.merged_columns(self._weights(reading)))
        own = np.flatnonzero(~reading.special)
        last = query if causal else int(own[-1])
        shown = f"{reading.words[query]} → {reading.words[key]}"
        return Link(
            linked.sentence,
            shown,
            rows[:, :, [query]],
            np.array([query]),
            int(own[0]),
            np.array([last]),
            key - query,
        )


def _part_of(model: Model, asked: Part | None) -> Part:
    """The part that is asked for, if the model has it."""
    known: dict[str, tuple[Part, ...]] = {"seq2seq": PARTS, "decoder": ("decoder",)}
    parts = known.get(model.config.kind, ("encoder",))
    if asked is not None and asked not in parts:
        raise SettingError(
            "This model has no {part} attention; it has: {known}.", part=asked, known=Listed(parts)
        )
    return asked or parts[0]


def _word_at(reading: Reading, span: tuple[int, int]) -> int | None:
    """The last word of the reading that a span overlaps."""
    found = [
        place
        for place, (start, end) in enumerate(reading.spans)
        if start < span[1] and end > span[0] and not reading.special[place]
    ]
    return found[-1] if found else None


def _of_ids(model: Model, ids: list[int]) -> Reading:
    tokens = tuple(str(model.tokenizer.id_to_token(id)) for id in ids)
    numbers = np.arange(len(ids))
    special = np.zeros(len(ids), bool)
    return Reading("", ids, [0] * len(ids), tokens, tokens, numbers, special, ((0, 0),) * len(ids))
