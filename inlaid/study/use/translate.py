"""Texts translated by a seq2seq or by a prompted decoder, in batches, in the order given."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inlaid import files, places
from inlaid.config import Positive
from inlaid.errors import SettingError
from inlaid.messages import Listed, Message
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Note, Progress, Report, silent
from inlaid.study.analysis import Row, analysis, local_only, plain
from inlaid.study.use.decoding import DecodingSettings, generation_settings
from inlaid.study.use.encoding import Tokens, encode
from inlaid.study.use.texts import chunks, texts_of
from inlaid.study.use.trace import Recorder, Trace

if TYPE_CHECKING:
    from inlaid.neural.model import Model

CHUNK = 8
"""Batches that are sorted by length together: texts of one length need no padding."""
LAYOUTS = (".txt", ".tsv", ".jsonl")


@dataclass(frozen=True, kw_only=True)
class TranslateSettings(DecodingSettings):
    """How texts are translated."""

    batch: Positive = 32
    """Most texts translated at once."""


@dataclass(frozen=True)
class Translation:
    """A text and its translation."""

    text: str
    translation: str
    ended: bool
    """Whether the end token was generated; otherwise the translation reached the most tokens and is cut."""
    trace: Trace | None = None


@dataclass(frozen=True, kw_only=True)
class Translations:
    """One translation for each text, in their order."""

    translations: tuple[Translation, ...]
    """Empty where they were written to a file."""
    count: int
    output: str | None = None

    def rows(self) -> list[Row]:
        if self.output is not None:
            return [Message("{path}: {count:,} translations", path=self.output, count=self.count)]
        rows: list[Row] = []
        for each in self.translations:
            if each.trace is not None:
                rows += each.trace.rows()
            rows.append(each.translation)
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
@local_only("field")
def translate(
    model: AnyModel,
    texts: str | Path | Sequence[str] | Iterable[str] = (),
    settings: TranslateSettings | None = None,
    *,
    file: Path | None = None,
    field: str = "text",
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Translations:
    """Translate texts with a seq2seq (Marian, T5), or with a decoder that was trained to translate, in
    batches, in the order given.

    Greedy or by beam search, as the model's folder says or as asked. An empty line stays empty.

    >>> translate(model, ["好久不见", "我打你"], beams=4).translations[0].translation

    Args:
        model: the folder of a seq2seq, or of a decoder that `inlaid train translation` made
        texts: the texts
        file: a file with one text a line, or a table (csv, tsv, jsonl, parquet)
        field: the column of a table that has the texts
        output: write the translations: .txt one a line, .tsv beside their texts, .jsonl

    Examples:
        inlaid translate model 我喜欢苹果。
        inlaid translate model --file texts.txt -o translations.txt --beams 4
    """
    settings = settings or TranslateSettings()
    loaded = check_use(model, "translate")
    if output is not None:
        _check_output(output, settings, overwrite=overwrite)
    if texts and isinstance(texts, (list, tuple)) and not any(map(str.strip, map(str, texts))):
        raise SettingError("The text is empty. Write at least one word.")
    found = _translated(loaded, texts_of(texts, file, field, report), settings, report)
    if output is None:
        kept = tuple(found)
        return Translations(translations=kept, count=len(kept))
    count = 0
    with files.writing(output) as written:
        for each in found:
            written.write(f"{_line(each, output.suffix)}\n".encode())
            count += 1
    return Translations(translations=(), count=count, output=str(output))


def _check_output(output: Path, settings: TranslateSettings, *, overwrite: bool) -> None:
    if output.suffix not in LAYOUTS:
        raise SettingError(
            "{path}: translations are written as {layouts}. Use one of these suffixes.",
            path=output,
            layouts=Listed(LAYOUTS),
        )
    if settings.trace:
        raise SettingError("A trace is shown in the terminal or as JSON. Leave out the output.")
    files.can_write(output)
    places.check_replaceable(output, overwrite=overwrite)


def _line(each: Translation, suffix: str) -> str:
    """One line of the output; line breaks and tabs inside a text would be taken for others."""
    if suffix == ".jsonl":
        return json.dumps({"text": each.text, "translation": each.translation}, ensure_ascii=False)
    texts = (each.text, each.translation) if suffix == ".tsv" else (each.translation,)
    return "\t".join(" ".join(text.split()) for text in texts)


def _translated(
    model: Model, texts: Iterator[str], settings: TranslateSettings, report: Report
) -> Iterator[Translation]:
    """Translations in the order of the texts. Within some batches, texts are sorted by length."""
    tokens = Tokens(model.tokenizer)
    done = 0
    cut = 0
    for some in chunks(texts, settings.batch * CHUNK):
        found: dict[int, Translation] = {}
        waiting: dict[int, list[int]] = {}
        for place, text in enumerate(some):
            if text.strip():
                waiting[place] = encode(model, text, report).ids
            else:
                found[place] = Translation(text, "", True)
        order = sorted(waiting, key=lambda place: len(waiting[place]))
        size = 1 if settings.trace else settings.batch
        for group in chunks(order, size):
            rows = [waiting[place] for place in group]
            made = _batch(model, tokens, [some[place] for place in group], rows, settings)
            found.update(zip(group, made, strict=True))
            report(Progress("translating", done + len(found), None, "texts"))
        done += len(some)
        cut += sum(not each.ended for each in found.values())
        yield from (found[place] for place in range(len(some)))
    if cut:
        report(
            Note(
                "{cut:,} of {done:,} translations have no end: they reached the most tokens. Raise "
                "max_new_tokens.",
                cut=cut,
                done=done,
            )
        )


def _batch(
    model: Model,
    tokens: Tokens,
    texts: Sequence[str],
    rows: Sequence[list[int]],
    settings: TranslateSettings,
) -> list[Translation]:
    import torch

    from inlaid.neural import generate as decoding
    from inlaid.neural.generation import FileSettings, resolve

    longest = max(map(len, rows))
    prompted = model.config.kind == "decoder"
    ids = torch.full((len(rows), longest), model.config.special.padding or 0)
    mask = torch.zeros(len(rows), longest, dtype=torch.bool)
    for place, row in enumerate(rows):
        columns = slice(longest - len(row), longest) if prompted else slice(0, len(row))
        ids[place, columns] = torch.tensor(row)
        mask[place, columns] = True
    before = longest if prompted else 1
    chosen = generation_settings(settings, model, before)
    rules = resolve(chosen, model.generation or FileSettings(), model.config, before)
    recorder = None
    if settings.trace:
        start = [tokens.source(id) for id in rows[0]] if prompted else []
        if not prompted and rules.start is not None:
            start = [tokens.shown(rules.start)]
        recorder = Recorder(tokens, start, rules.end)
    found = decoding.generate(model, ids.to(model.device), mask.to(model.device), chosen, watch=recorder)
    return [
        Translation(
            text,
            tokens.text(new),
            bool(new) and new[-1] in rules.end,
            None if recorder is None else recorder.trace(new),
        )
        for text, new in zip(texts, found, strict=True)
    ]
