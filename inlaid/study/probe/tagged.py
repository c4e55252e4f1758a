"""Tagged text -> sentences with labelled words: word/tag on lines (Brown, People's Daily), or CoNLL-U.

    The/at jury/nn said/vbd
    迈向/v  充满/v  希望/n

Tags of Brown and of Peking University become the classes of Petrov et al. 2012 (NOUN, VERB, ...), so that two
languages are asked the same question. Other tags stay as they are.
"""

from __future__ import annotations

import functools
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from inlaid.collect.archives import ABOUT, SEPARATOR, file_of
from inlaid.collect.charsets import AUTO
from inlaid.collect.compression import DecompressedFile
from inlaid.collect.truth import Span
from inlaid.encode.chinese import HAN
from inlaid.errors import SourceError
from inlaid.report import Note, Report, silent

BROWN = {
    "NOUN": "nn nns np nps nr nrs",
    "VERB": "vb vbd vbg vbn vbz be bed bedz beg bem ben ber bez do dod doz hv hvd hvg hvn hvz md",
    "ADJ": "jj jjr jjs jjt",
    "ADV": "rb rbr rbt rn rp ql qlp wrb wql nil",
    "PRON": "pn pp ppl ppls ppo pps ppss wp wpo wps ex",
    "DET": "at dt dti dts dtx abl abn abx ap wdt",
    "ADP": "in to",
    "CONJ": "cc cs",
    "NUM": "cd od",
    "PRT": "uh fw",
    "PUNCT": "",
}
"""Brown's tags, without what follows - + * $: these mark titles, contractions, negation and genitives."""
PEKING = {
    "NOUN": "n s t f i j l k g h",
    "VERB": "v",
    "ADJ": "a b z",
    "ADV": "d",
    "PRON": "r",
    "NUM": "m",
    "MEASURE": "q",
    "ADP": "p",
    "CONJ": "c",
    "PRT": "u y e o",
    "PUNCT": "w",
}
"""The first letters of the tags of Peking University: nr and ns are nouns, vn is counted with the verbs."""
NUMBERS = {"nn": "singular", "nns": "plural", "np": "singular", "nps": "plural"}
TENSES = {
    **dict.fromkeys(("vbd", "bed", "bedz", "dod", "hvd"), "past"),
    **dict.fromkeys(("vbz", "bez", "bem", "ber", "doz", "hvz"), "present"),
}
QUOTES = {"``": '"', "''": '"'}
UD_FEATURES = {
    "Number=Sing": ("number", "singular"),
    "Number=Plur": ("number", "plural"),
    "Tense=Past": ("tense", "past"),
    "Tense=Pres": ("tense", "present"),
}
SUFFIX = re.compile(r"[-+*$].*")


class LabelledWord(NamedTuple):
    """A word of a sentence, where it is, and what is known about it by the name of a task."""

    word: str
    span: Span
    labels: Mapping[str, str]


@dataclass(frozen=True)
class LabelledSentence:
    """A sentence and its words."""

    text: str
    words: tuple[LabelledWord, ...]


def read_tagged(path: Path, report: Report = silent) -> Iterator[LabelledSentence]:
    """The sentences of a tagged file, of all tagged files of an archive, or of a folder."""
    if not file_of(path).exists():
        raise SourceError("There is no file '{path}'. Check the path.", path=path)
    found = 0
    for file in _files(path):
        for pairs in _tagged_lines(file, report, strict=file == path):
            found += 1
            yield _sentence(pairs)
    if not found:
        raise SourceError(
            "{path}: no tagged words are found. Expected lines of word/tag, as in `the/at jury/nn`, or "
            "CoNLL-U.",
            path=path,
        )


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.is_file() and not each.name.startswith("."))
    if path.suffix.lower() != ".zip" or not zipfile.is_zipfile(path):
        return [path]
    with zipfile.ZipFile(path) as archive:
        names = sorted(each.filename for each in archive.infolist() if not each.is_dir())
    return [Path(f"{path}{SEPARATOR}{name}") for name in names if not _is_about(Path(name))]


def _is_about(name: Path) -> bool:
    """Files that come with tagged text and are none."""
    return name.name.startswith((".", "__")) or name.stem.lower() in ABOUT


Tagged = list[tuple[str, Mapping[str, str]]]


def _tagged_lines(path: Path, report: Report, *, strict: bool) -> Iterator[Tagged]:
    """The tagged sentences of one file. In an archive or a folder, a file with other text is passed over."""
    lines = 0
    tagged = 0
    columns: Tagged = []
    with DecompressedFile(path) as file:
        file.recode(AUTO, "error")
        for line in file:
            text = line.decode("utf-8", "replace").strip("\r\n\ufeff ")
            cells = text.split("\t")
            if len(cells) == 10:
                columns += _conllu(cells)
                continue
            if columns:
                yield columns
                columns = []
                tagged += 1
            if not text.strip() or text.startswith("#"):
                continue
            lines += 1
            pairs = _slashed(text)
            if pairs:
                tagged += 1
                yield pairs
        file.finish()
    if columns:
        yield columns
    if strict and lines and tagged < lines:
        report(
            Note(
                "{path}: {count:,} of {lines:,} lines have no tags. They are left out.",
                path=path,
                count=lines - tagged,
                lines=lines,
            )
        )


def _slashed(text: str) -> Tagged:
    """The words and labels of a line; none if it is not tagged."""
    tokens = text.split()
    pairs = [token.rpartition("/") for token in tokens]
    if not all(word and tag for word, _, tag in pairs):
        return []
    return [(QUOTES.get(word, word), _labels(tag)) for word, _, tag in pairs]


def _conllu(cells: Sequence[str]) -> Tagged:
    """The word of a line of CoNLL-U; none for ranges and empty nodes, whose numbers are 3-4 and 3.1."""
    if not cells[0].isdigit():
        return []
    features = dict(UD_FEATURES[each] for each in cells[5].split("|") if each in UD_FEATURES)
    if cells[3] != "NOUN":
        features.pop("number", None)
    return [(cells[1], {"pos": cells[3], **features})]


@functools.cache
def _labels(tag: str) -> Mapping[str, str]:
    plain = SUFFIX.sub("", tag)
    labels = {"pos": _class(tag, plain)}
    if plain in NUMBERS:
        labels["number"] = NUMBERS[plain]
    if plain in TENSES:
        labels["tense"] = TENSES[plain]
    return labels


def _class(tag: str, plain: str) -> str:
    """The word class of a tag: of Brown by its first part, of Peking University by its first letter."""
    if plain in BROWN_TAGS:
        return BROWN_TAGS[plain]
    if tag.startswith("*"):  # Brown's "not"
        return "ADV"
    if not re.match(r"\w", tag):
        return "PUNCT"
    if re.fullmatch(r"[a-z]{1,2}|[A-Z]g", tag) and tag[0].lower() in PEKING_TAGS:
        return PEKING_TAGS[tag[0].lower()]
    return tag


def _inverted(classes: Mapping[str, str]) -> dict[str, str]:
    return {tag: name for name, tags in classes.items() for tag in tags.split()}


BROWN_TAGS = _inverted(BROWN)
PEKING_TAGS = _inverted(PEKING)


def _sentence(pairs: Tagged) -> LabelledSentence:
    """Words of scripts without spaces are joined without one."""
    words = list[LabelledWord]()
    text = ""
    for word, labels in pairs:
        if text and not (_UNSPACED.match(word) or _UNSPACED.match(text[-1])):
            text += " "
        words.append(LabelledWord(word.lower(), Span(len(text), len(text) + len(word)), labels))
        text += word
    return LabelledSentence(text, tuple(words))


_UNSPACED = re.compile(f"[{HAN}，。、；：！？（）《》“”‘’—…·０-９Ａ-Ｚａ-ｚ％]")
