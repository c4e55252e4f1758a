"""Generation settings: those a caller gives, those a folder holds, and the rules that follow from both."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from inlaid.config import Count, Fraction, Positive, Range, Seed, check
from inlaid.errors import FormatError, SettingError
from inlaid.messages import Listed, Message
from inlaid.neural.config import Config
from inlaid.neural.generation_keys import ALSO_READ, KEYS, NEUTRAL, NO_EFFECT, SAMPLING
from inlaid.untrusted import read_json_object

FILE = "generation_config.json"
Method = Literal["greedy", "sample", "beam"]
Ids = tuple[Count, ...]
Weight = Annotated[float, Range(1e-6)]


@dataclass(frozen=True, kw_only=True)
class GenerationSettings:
    """How to choose the next token, and when to stop. What is left out is as the model's folder says
    (`generation_config.json`), or as given in parentheses."""

    method: Method | None = None
    """The likeliest token (greedy); a token drawn by its probability; the likeliest text found by beam
    search."""
    max_new_tokens: Positive | None = None
    """Most tokens to generate, the end token included (50)."""
    min_new_tokens: Count | None = None
    """Fewest tokens before an end token (0)."""
    beams: Annotated[int | None, Range(1, 10_000)] = None
    """Beam search: hypotheses kept at every step (4)."""
    length_penalty: Annotated[float | None, Range(-50, 50)] = None
    """Beam search: scores are divided by length to this power; higher favors longer texts (1)."""
    early_stopping: bool | None = None
    """Beam search: stop as soon as `beams` hypotheses have ended, though a running one might still win
    (no)."""
    temperature: Weight | None = None
    """Sampling: logits are divided by it; below 1 likely tokens become likelier (1)."""
    top_k: Count | None = None
    """Sampling: only the k likeliest tokens; 0: all (0)."""
    top_p: Fraction | None = None
    """Sampling: only the fewest tokens whose probabilities sum to p (nucleus sampling) (1)."""
    repetition_penalty: Weight | None = None
    """Above 1, words that are in the text already become less likely (Keskar et al. 2019) (1)."""
    no_repeat_ngram_size: Count | None = None
    """No n tokens in a row occur twice; 0: they may (0)."""
    bad_words: tuple[Ids, ...] | None = None
    """Never generated: single tokens, or tokens in a row (none)."""
    suppress: Ids | None = None
    """Tokens that are never generated (none)."""
    suppress_first: Ids | None = None
    """Tokens that a text does not begin with (none)."""
    forced_first: Ids | None = None
    """The first token after a prompt of one token, such as the start token of a seq2seq (not forced)."""
    forced_last: Ids | None = None
    """The token a text ends with that reaches `max_new_tokens` (not forced)."""
    end: Ids | None = None
    """Each of them ends a text (those of the model's config)."""
    start: Count | None = None
    """A seq2seq starts decoding from it (that of the model's config)."""
    seed: Seed = 0
    """Sampling: the same seed draws the same text, whatever else is in the batch."""
    use_cache: bool = True
    """Keep keys and values between steps: the same ids, faster."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Settings with every value decided; the fields are those of `GenerationSettings`."""

    method: Method = "greedy"
    max_new_tokens: int = 50
    min_new_tokens: int = 0
    beams: int = 4
    length_penalty: float = 1.0
    early_stopping: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    bad_words: tuple[Ids, ...] = ()
    suppress: Ids = ()
    suppress_first: Ids = ()
    forced_first: Ids = ()
    forced_last: Ids = ()
    end: Ids = ()
    start: int | None = None
    seed: int = 0
    use_cache: bool = True


DEFAULT_TOP_K = 50
"""What `transformers` samples from where a file asks for sampling and does not say."""


@dataclass(frozen=True)
class FileSettings:
    """What the folder of a model says about generating."""

    settings: GenerationSettings = GenerationSettings()
    max_length: int | None = None
    """Most tokens, those of the prompt included."""
    min_length: int | None = None
    """Fewest tokens before an end token, those of the prompt included."""
    padding: int | None = None
    """The padding id."""
    unsupported: Mapping[str, Any] = field(default_factory=dict[str, Any])
    file: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The keys as they were read."""
    name: str = FILE
    """The file they come from."""

    def to_write(self, config: Config) -> dict[str, Any]:
        """A generation_config.json that says the same."""
        if self.name == FILE:
            return dict(self.file)
        special = {"eos_token_id": list(config.special.end), "pad_token_id": config.special.padding}
        return {**special, "decoder_start_token_id": config.special.start, **self.file}

    def notes(self) -> tuple[str, ...]:
        """What the model's card says about them."""
        known = {*KEYS, *ALSO_READ, *SAMPLING, *NEUTRAL}
        used = [f"{key} {value}" for key, value in self.file.items() if key in known and value is not None]
        unknown = [key for key in self.file if key not in known and key not in NO_EFFECT]
        notes: list[Message] = []
        if used:
            notes.append(Message("generation, by {name}: {keys}", name=self.name, keys=Listed(used)))
        if unknown:
            notes.append(Message("not used: {keys} of {name}", keys=Listed(unknown), name=self.name))
        return tuple(note.in_language("en") for note in notes)


def read_generation(path: Path, raw: Mapping[str, Any], config: Config) -> FileSettings:
    """The settings in a folder: those of generation_config.json, or where there is none those that older
    folders have in config.json, `raw`."""
    known = {*KEYS, *ALSO_READ, *SAMPLING, *NEUTRAL}
    name = FILE
    if (path / FILE).is_file():
        file = read_json_object(path / FILE)
        start = file.get("decoder_start_token_id", file.get("bos_token_id"))
        complete = {"eos_token_id": None, "bad_words_ids": None, **file, "decoder_start_token_id": start}
    else:
        name = "config.json"
        special = ("eos_token_id", "bos_token_id", "decoder_start_token_id")  # they are in `config`
        file = {key: raw[key] for key in raw if key in known and key not in special and raw[key] is not None}
        complete = {**file, "eos_token_id": list(config.special.end)}
        complete |= {"decoder_start_token_id": config.special.start, "pad_token_id": config.special.padding}
    try:
        return _read(complete, file, name)
    except (SettingError, TypeError, ValueError, OverflowError) as error:
        raise FormatError("{path}: {name}: {reason}", path=path, name=name, reason=error) from None


def _read(raw: Mapping[str, Any], file: Mapping[str, Any], name: str) -> FileSettings:
    fields = {ours: raw[theirs] for theirs, ours in KEYS.items() if theirs in raw}
    for ours in ("suppress", "suppress_first", "forced_first", "forced_last", "end"):
        if ours in fields:
            fields[ours] = _ids(fields[ours])
    if "bad_words" in fields:
        fields["bad_words"] = tuple(_ids(each) for each in fields["bad_words"] or ())
    unsupported = {
        key: raw[key]
        for key, neutral in (SAMPLING | NEUTRAL).items()
        if raw.get(key) is not None and raw[key] != neutral
    }
    if isinstance(fields.get("early_stopping"), str):
        unsupported["early_stopping"] = fields.pop("early_stopping")
    beams = raw.get("num_beams") or 1
    if beams > 1:
        fields |= {"method": "beam", "beams": beams}
    if raw.get("do_sample"):
        fields["method"] = "sample"
        fields.setdefault("top_k", DEFAULT_TOP_K)
    if raw.get("do_sample") and beams > 1:
        unsupported["num_beams"] = beams
    settings = GenerationSettings(**{name: value for name, value in fields.items() if value is not None})
    return FileSettings(
        settings,
        max_length=_count(raw, "max_length"),
        min_length=_count(raw, "min_length"),
        padding=_count(raw, "pad_token_id"),
        unsupported=unsupported,
        file=file,
        name=name,
    )


def _count(raw: Mapping[str, Any], key: str) -> int | None:
    value = raw.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise SettingError("{key} is {value!r}; expected a whole number.", key=key, value=value)
    return value


def _ids(value: Any) -> tuple[int, ...]:
    """One id, a list, or null."""
    if value is None:
        return ()
    return (value,) if isinstance(value, int) else tuple(value)


def resolve(settings: GenerationSettings, file: FileSettings, config: Config, prompt: int) -> Rules:
    """The rules for prompts of this many tokens: what the caller gave, what the file says, the defaults."""
    given = _given(settings)
    from_file = _given(file.settings)
    fields = {"end": config.special.end, "start": config.special.start, **from_file, **given}
    fields.setdefault("bad_words", tuple((id,) for id in config.special.banned))
    if "max_new_tokens" not in fields and file.max_length is not None:
        fields["max_new_tokens"] = _new_tokens(file, prompt)
    if "min_new_tokens" not in fields and file.min_length:
        fields["min_new_tokens"] = max(file.min_length - prompt, 0)
    # An end token outside the table never comes, and may be larger than any tensor holds.
    fields["end"] = tuple(id for id in fields["end"] if id < config.output_vocab_size)
    rules = Rules(**fields)
    for key, value in file.unsupported.items():
        overruled = KEYS.get(key) in given or (key == "num_beams" and "method" in given)
        if not overruled and (key not in SAMPLING or rules.method == "sample"):
            raise SettingError(
                "{name} of this model has {key} = {value!r}, which is not supported. Load the model from a "
                "folder without this key to generate without it.",
                name=file.name,
                key=key,
                value=value,
            )
    _check_ids(rules, config)
    return rules


def _given(settings: GenerationSettings) -> dict[str, Any]:
    values = {each.name: getattr(settings, each.name) for each in dataclasses.fields(settings)}
    return {name: value for name, value in values.items() if value is not None}


def _new_tokens(file: FileSettings, prompt: int) -> int:
    assert file.max_length is not None
    if file.max_length <= prompt:
        raise SettingError(
            "The prompt has {prompt:,} tokens, and {name} of this model allows {limit:,} in all. Give "
            "max_new_tokens.",
            prompt=prompt,
            name=file.name,
            limit=file.max_length,
        )
    return file.max_length - prompt


def _check_ids(rules: Rules, config: Config) -> None:
    """Words that are banned or forced are words of the model."""
    used: dict[str, Iterable[int]] = {
        "bad_words": (id for word in rules.bad_words for id in word),
        "forced_first": rules.forced_first,
        "forced_last": rules.forced_last,
    }
    for name, ids in used.items():
        for id in ids:
            if id >= config.output_vocab_size:
                raise SettingError(
                    "{name} has id {id}, outside the table of {rows:,} rows.",
                    name=name,
                    id=id,
                    rows=config.output_vocab_size,
                )
    for name in ("forced_first", "forced_last"):
        forced = set(getattr(rules, name))
        if forced and forced <= {*rules.suppress}:
            raise SettingError(
                "{name} is {ids}, and suppress has the same. Remove one.", name=name, ids=forced
            )
    if any(not word for word in rules.bad_words):
        raise SettingError("bad_words has a word without tokens. Leave it out.")
