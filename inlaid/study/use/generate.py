"""Text generated from a prompt: greedy, sampled or by beam search, shown while it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Report, silent
from inlaid.study.analysis import Row, analysis, local_only, plain
from inlaid.study.use.decoding import SamplingSettings, generation_settings
from inlaid.study.use.encoding import GrowingText, Tokens, encode
from inlaid.study.use.texts import texts_of
from inlaid.study.use.trace import Recorder, Trace

if TYPE_CHECKING:
    from inlaid.neural.model import Model

Write = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class GenerateSettings(SamplingSettings):
    """How text is generated."""


@dataclass(frozen=True)
class GeneratedText:
    """What was generated after one prompt."""

    prompt: str
    text: str
    """The new text, without the prompt."""
    tokens: tuple[str, ...]
    """The new tokens, the end token included."""
    ended: bool
    """Whether an end token was generated; otherwise the text reached the most tokens."""
    continues: bool
    """Whether the text continues the prompt; that of a seq2seq is an answer to it."""
    trace: Trace | None = None

    @property
    def whole(self) -> str:
        """The prompt and what continues it; of a seq2seq the answer alone."""
        return self.prompt + self.text if self.continues else self.text


@dataclass(frozen=True)
class Generated:
    """One text for each prompt, in their order."""

    texts: tuple[GeneratedText, ...]

    def rows(self) -> list[Row]:
        rows: list[Row] = []
        for each in self.texts:
            if each.trace is not None:
                rows += each.trace.rows()
            rows.append(each.whole)
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
@local_only("field")
def generate(
    model: AnyModel,
    texts: str | Path | Sequence[str] | Iterable[str] = (),
    settings: GenerateSettings | None = None,
    *,
    file: Path | None = None,
    field: str = "text",
    stream: Write | None = None,
    report: Report = silent,
) -> Generated:
    """Continue a text with a decoder (GPT-2, Llama), or answer it with a seq2seq (T5), token by token.

    Greedy unless the model's folder says otherwise; --temperature, --top-k or --top-p sample, --beams
    searches for the likeliest text.

    >>> generate(model, "从前有一座", temperature=0.8, seed=3).texts[0].whole

    Args:
        model: the folder of a decoder or a seq2seq
        texts: the prompts
        file: a file with one prompt a line, or a table (csv, tsv, jsonl, parquet)
        field: the column of a table that has the prompts
        stream: called with each piece of text as it is made

    Examples:
        inlaid generate model "Once upon a" --max-new-tokens 50
        inlaid generate model 从前 --method sample --temperature 0.8
    """
    settings = settings or GenerateSettings()
    loaded = check_use(model, "generate")
    tokens = Tokens(loaded.tokenizer)
    made: list[GeneratedText] = []
    for number, text in enumerate(texts_of(texts, file, field, report)):
        if number and stream is not None and not settings.trace:
            stream("\n")
        writing = _Writing(loaded, tokens, text, settings, report)
        made.append(writing.run(number, None if settings.trace else stream))
    return Generated(tuple(made))


def _streaming(stream: Write, growing: GrowingText, prompt: str) -> Any:
    """Shows each token when it is chosen, the first after the prompt: nothing is shown before an error."""
    before = [prompt]

    def show(choice: Any) -> None:
        stream("".join(before) + growing.add(int(choice.tokens[0])))
        before.clear()

    return show


class _Writing:
    """The generation of one text."""

    def __init__(
        self, model: Model, tokens: Tokens, prompt: str, settings: GenerateSettings, report: Report
    ) -> None:
        self.model = model
        self.tokens = tokens
        self.prompt = prompt
        self.continues = model.config.kind == "decoder"
        self.ids = encode(model, prompt, report, added_end=not self.continues).ids
        self.traced = settings.trace
        length = len(self.ids) if self.continues else 1
        self.settings = generation_settings(settings, model, length)

    def run(self, number: int, stream: Write | None) -> GeneratedText:
        import torch

        from inlaid.neural import generate as decoding
        from inlaid.neural.generation import FileSettings, resolve

        model = self.model
        file = model.generation or FileSettings(padding=model.config.special.padding)
        rules = resolve(self.settings, file, model.config, len(self.ids) if self.continues else 1)
        before = self.ids if self.continues else []
        start = [self.tokens.source(id) for id in before]
        if not self.continues and rules.start is not None:
            start = [self.tokens.shown(rules.start)]
        recorder = Recorder(self.tokens, start, rules.end) if self.traced else None
        watch: Any = recorder
        growing = GrowingText(self.tokens, before)
        if stream is not None and rules.method != "beam":
            watch = _streaming(stream, growing, self.prompt if self.continues else "")
        read = torch.tensor([self.ids], device=model.device)
        ids = decoding.generate(
            model, read, torch.ones_like(read), self.settings, watch=watch, numbers=[number]
        )[0]
        text = self.tokens.continuation(before, ids)
        made = GeneratedText(
            prompt=self.prompt,
            text=text,
            tokens=tuple(self.tokens.shown(id) for id in ids),
            ended=bool(ids) and ids[-1] in rules.end,
            continues=self.continues,
            trace=None if recorder is None else recorder.trace(ids),
        )
        if stream is not None:
            stream(growing.finish() if growing.ids else made.whole)
        return made
