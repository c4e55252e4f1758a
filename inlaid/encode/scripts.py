"""Scripts of Chinese: whether a text is simplified, traditional or both, and how much of it is Chinese.

国 and 國 are one word that two spellings split into two, each with half of its contexts. Defaults depend on
what is found here: `Encoding.normalize` and the n-grams of fastText.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from inlaid.collect.charset_detection import UTF8, likely
from inlaid.collect.normalize import simplified, traditional
from inlaid.encode.corpus import Encoding
from inlaid.encode.vocabulary import Vocabulary
from inlaid.messages import Advice, Message
from inlaid.report import Note, Report

BLANK, OTHER, KANA, HAN, SIMPLIFIED, TRADITIONAL = range(6)
"""Kinds of characters: spaces and punctuation; not Chinese; those of Japanese alone; Chinese in both scripts;
in one script only."""
CODE_POINTS = 0x10000
MIXED = 0.05
"""Smallest share of the rarer script in a mixed text, of the characters that are in one script only.
Traditional text has up to 1 % of characters such as 台 and 里, which are simplified forms of others."""
ENOUGH = 20
"""Characters of one script only, from which a share means something."""
NOTICEABLE = 0.01
"""Share of Chinese words from which a text has a script of Chinese: below it, other text quotes some."""
JAPANESE = 0.05
"""Share of kana in kana and Chinese characters from which a text is Japanese, which has about a half."""


@dataclass(frozen=True)
class Scripts:
    """Characters of a text, by script."""

    other: int
    """Letters and digits that are not Chinese, with kana."""
    kana: int
    """Letters of Japanese."""
    han: int
    """Chinese characters of both scripts."""
    simplified: int
    traditional: int

    @property
    def chinese(self) -> int:
        return self.han + self.simplified + self.traditional

    @property
    def chinese_share(self) -> float:
        """About the share of Chinese words: a word has about 5 letters, or 1.7 Chinese characters."""
        return 3 * self.chinese / max(3 * self.chinese + self.other, 1)

    @property
    def mostly_han(self) -> bool:
        """Whether Chinese words are more than half."""
        return self.chinese_share > 0.5

    @property
    def traditional_share(self) -> float:
        """The share of traditional characters, of those that are in one script only."""
        return self.traditional / max(self.simplified + self.traditional, 1)

    @property
    def tells(self) -> bool:
        """Whether the text is noticeably Chinese and has enough characters that are in one script only.
        Japanese has 国 and 東 in one script of its own."""
        is_japanese = self.kana > JAPANESE * (self.kana + self.chinese)
        is_chinese = self.chinese_share >= NOTICEABLE and not is_japanese
        return is_chinese and self.simplified + self.traditional >= ENOUGH

    @property
    def mixed(self) -> bool:
        return self.tells and MIXED <= self.traditional_share <= 1 - MIXED

    @property
    def mostly_traditional(self) -> bool:
        return self.tells and self.traditional_share > 1 - MIXED


def scripts_of(text: str) -> Scripts:
    """The scripts of a text.

    >>> scripts_of("中国 and 中國")
    Scripts(other=3, kana=0, han=2, simplified=1, traditional=1)
    """
    return _counted(_kinds_of(text), None)


def scripts_of_words(vocabulary: Vocabulary) -> Scripts:
    """The scripts of all words of a text, each as often as it occurs."""
    words = list(vocabulary.words)
    lengths = np.array([len(word) for word in words], np.int64)
    return _counted(_kinds_of("".join(words)), np.repeat(vocabulary.counts, lengths))


def _counted(kinds: np.ndarray, counts: np.ndarray | None) -> Scripts:
    found = np.bincount(kinds, weights=counts, minlength=TRADITIONAL + 1)
    return Scripts(
        other=int(found[OTHER] + found[KANA]),
        kana=int(found[KANA]),
        han=int(found[HAN]),
        simplified=int(found[SIMPLIFIED]),
        traditional=int(found[TRADITIONAL]),
    )


def _kinds_of(text: str) -> np.ndarray:
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return _kinds()[np.minimum(points, CODE_POINTS - 1)]


@functools.cache
def _kinds() -> np.ndarray:
    """The kind of each character up to U+FFFF; rarer ones are taken for U+FFFF, which is not counted."""
    kinds = np.full(CODE_POINTS, BLANK, np.uint8)
    letters = [point for point in range(0xD800) if chr(point).isalnum()]
    kinds[letters] = OTHER
    kinds[0x3041:0x30FB] = KANA
    kinds[0x3400:0x4DC0] = HAN
    kinds[0x4E00:0xA000] = HAN
    characters = [chr(point) for point in range(0x4E00, 0xA000)]
    lines = "\n".join(characters)  # apart, as a phrase would be converted as one
    for kind, convert in ((SIMPLIFIED, traditional), (TRADITIONAL, simplified)):
        converted = convert(lines).split("\n")
        pairs = zip(characters, converted, strict=True)
        kinds[[ord(character) for character, other in pairs if character != other]] = kind
    return kinds


def settled(encoding: Encoding, pieces: Iterable[bytes], report: Report) -> Encoding:
    """The encoding with `simplified` among its steps, where no steps are set and the pieces of the text mix
    scripts. A tokenizer file keeps the steps it was made with."""
    if encoding.normalize is not None or encoding.tokenizer == "whitespace" or encoding.tokenizer_file:
        return encoding
    # What is in another charset is not read as text: reading all of it says so.
    texts = [piece.decode("utf-8", "ignore") for piece in pieces if likely(piece) == UTF8]
    found = scripts_of("\n".join(texts))
    if not found.mixed:
        return encoding
    report(
        Note(
            "{mixture} This is a sample; all of it is converted to simplified. {cost} To keep them apart: "
            "`{option}`.",
            mixture=_mixture(found),
            cost=_cost(),
            option=_normalizing(encoding.steps),
        )
    )
    return dataclasses.replace(encoding, normalize=(*encoding.steps, "simplified"))


def _normalizing(steps: tuple[str, ...]) -> Advice:
    """How to ask for these steps."""
    return Advice(
        typed=Message("--normalize {steps}", steps=" ".join(steps)),
        called=Message("normalize={steps}", steps=list(steps)),
    )


def note_scripts(encoding: Encoding, vocabulary: Vocabulary, report: Report) -> None:
    """Report scripts that the sample of the text did not show, or that the segmenter knows little of."""
    if "simplified" in encoding.steps:
        return
    found = scripts_of_words(vocabulary)
    command = _normalizing((*encoding.steps, "simplified"))
    if found.mixed:
        report(
            Note(
                "{mixture} {cost} To make them one: `{command}`.",
                mixture=_mixture(found),
                cost=_cost(),
                command=command,
            )
        )
    elif found.mostly_traditional and encoding.tokenizer == "word":
        report(
            Note(
                "The text is in traditional Chinese, and the words that Chinese is segmented by are mostly "
                "simplified. `{command}` converts it and finds more of its words.",
                command=command,
            )
        )


def _mixture(found: Scripts) -> Message:
    return Message(
        "The text mixes simplified and traditional Chinese: of the characters that differ, {simplified:,} "
        "are simplified and {traditional:,} ({share:.0%}) traditional.",
        simplified=found.simplified,
        traditional=found.traditional,
        share=found.traditional_share,
    )


def _cost() -> Message:
    return Message(
        "Apart, 国 and 國 are two words, each with a part of the contexts: on the Chinese Wikipedia, which "
        "mixes scripts, sgns then gets .176 instead of .295 of the semantic analogies of CA8 right."
    )
