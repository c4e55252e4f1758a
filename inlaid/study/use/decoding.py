"""Settings of decoding, shared by `generate` and `translate`, and the steps of a decoding as a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from inlaid.config import Count, Fraction, Positive, Seed, check
from inlaid.errors import SettingError
from inlaid.neural.generation import GenerationSettings, Weight

if TYPE_CHECKING:
    from inlaid.neural.model import Model

NEW_TOKENS = 50
"""Most new tokens where nothing says how many."""
ONLY = {
    "sample": ("temperature", "top_k", "top_p"),
    "beam": ("beams", "length_penalty", "early_stopping"),
}
"""Settings that only one method has: giving one of them asks for that method."""


@dataclass(frozen=True, kw_only=True)
class DecodingSettings:
    """How the next token is chosen, and when a text ends. What is left out is as the model's folder says
    (`generation_config.json`), or as given in parentheses."""

    method: Literal["greedy", "sample", "beam"] | None = None
    """The likeliest token (greedy); a token drawn by its probability (sample); the likeliest text found by
    beam search."""
    max_new_tokens: Positive | None = None
    """Most tokens to generate, the end token included (50)."""
    min_new_tokens: Count | None = None
    """Fewest tokens before an end token (0)."""
    beams: Positive | None = None
    """Beam search: hypotheses kept at every step (4)."""
    length_penalty: float | None = None
    """Beam search: scores are divided by length to this power; higher favors longer texts (1)."""
    early_stopping: bool | None = None
    """Beam search: stop as soon as `beams` hypotheses have ended (no)."""
    repetition_penalty: Weight | None = None
    """Above 1, words that are in the text already become less likely (1)."""
    no_repeat_ngram_size: Count | None = None
    """`--no-repeat-ngram-size`: this many tokens in a row never occur twice; 0: they may (0)."""
    trace: bool = False
    """Show the decoding step by step: the likeliest tokens, the chosen one; for beams the tree."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class SamplingSettings(DecodingSettings):
    """The same, and how tokens are drawn."""

    temperature: Weight | None = None
    """Sampling: logits are divided by it; below 1 likely tokens become likelier (1)."""
    top_k: Count | None = None
    """Sampling: only the k likeliest tokens; 0: all (0)."""
    top_p: Fraction | None = None
    """Sampling: only the fewest tokens whose probabilities sum to p (nucleus sampling) (1)."""
    seed: Seed = 0
    """Sampling: the same seed draws the same text."""


def generation_settings(settings: DecodingSettings, model: Model, prompt: int) -> GenerationSettings:
    """The settings as decoding takes them, for prompts of this many tokens."""
    names = {name for name in settings.__dataclass_fields__ if name not in ("trace", "batch")}
    values: dict[str, Any] = {name: getattr(settings, name) for name in names}
    values["method"] = _method(values)
    if values["max_new_tokens"] is None:
        values["max_new_tokens"] = _room(model, prompt)
    return GenerationSettings(**values)


def _method(values: dict[str, Any]) -> Any:
    """The method that was named, or that the settings given are for."""
    given = {method: name for method, names in ONLY.items() for name in names if values.get(name) is not None}
    named = values["method"]
    if len(given) > 1:
        raise SettingError(
            "{one} is for sampling, and {other} for beam search. Give one of them.",
            one=given["sample"],
            other=given["beam"],
        )
    meant = next(iter(given), None)
    if named is not None and meant is not None and named != meant:
        raise SettingError(
            "{name} is for the method {meant}; found the method {named}. Leave one of them out.",
            name=given[meant],
            meant=meant,
            named=named,
        )
    return named or meant


def _room(model: Model, prompt: int) -> int | None:
    """Fewer new tokens than usual where the model has no room for more; None where the folder says how
    many."""
    file = model.generation
    limit = model.config.max_length
    has_limit = file is not None and (file.settings.max_new_tokens or file.max_length)
    if has_limit or limit is None:
        return None
    return max(1, min(NEW_TOKENS, limit + 1 - prompt))
