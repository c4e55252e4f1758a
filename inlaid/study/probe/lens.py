"""Logit lens: the words that the hidden state of every position is nearest to, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inlaid.config import Positive, check
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.model_line import model_line
from inlaid.study.use.encoding import Tokens, encode
from inlaid.study.use.masks import BLANK, MASKS
from inlaid.study.use.next import LikelyToken, likely


@dataclass(frozen=True, kw_only=True)
class LensSettings:
    """What is shown of the distributions."""

    n: Positive = 3
    """Words of each position and layer."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class Lens:
    """The likeliest words by the hidden states of each layer, at each position."""

    model: Message
    tokens: tuple[str, ...]
    """What the model has read."""
    causal: bool
    """Whether a position predicts the token after it; otherwise its own."""
    layers: tuple[tuple[tuple[LikelyToken, ...], ...], ...]
    """By layer, 0 is the input of the first block, and by position."""
    output: str | None = None

    def rows(self) -> list[Row]:
        rows: list[Row] = [self.model, (Message("layer"), *map(str, range(len(self.layers))))]
        for place, token in enumerate(self.tokens):
            best = [layer[place][0] for layer in self.layers]
            rows.append((token, *(f"{each.token} {each.probability:.2f}" for each in best)))
        rows += figures.written(self.output)
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
def lens(
    model: AnyModel,
    text: str,
    settings: LensSettings | None = None,
    *,
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Lens:
    """The words that hidden states are nearest to, at every position, layer by layer (logit lens).

    The final norm and the output layer are applied to the hidden states of every layer. A decoder shows the
    token it expects next, a masked model the word it sees or, for ___ and [MASK], expects there.

    >>> lens(model, "我喜欢吃[MASK]").layers[-1][4]

    Args:
        model: the folder of a decoder or a masked model
        text: a text; a blank is written ___ or [MASK]
        output: draw positions and layers, as .png, or as a page, as .html

    Examples:
        inlaid lens model "The cat ___ fish."
        inlaid lens model 从前有一座 -o lens.html
    """
    settings = settings or LensSettings()
    if output is not None:
        figures.writable(output, Message("A picture of the lens"), overwrite=overwrite)
    kind = getattr(getattr(model, "config", None), "kind", "")
    if kind == "seq2seq":
        raise SettingError(
            "A lens shows decoders and masked models. `next` with layers shows how a translation starts."
        )
    loaded = check_use(model, "next" if kind == "decoder" else "fill")
    from inlaid.neural.encoder import DetectorHead
    from inlaid.neural.predict import layer_distributions

    if isinstance(loaded.network.head, DetectorHead):
        raise SettingError("This model tells whether words were replaced, and predicts none.")
    asked = text
    if kind == "encoder":
        known = loaded.tokenizer.get_vocab()
        asked = BLANK.sub(next((mask for mask in MASKS if mask in known), "___"), text)
    encoded = encode(loaded, asked, report, added_end=kind == "encoder")
    tokens = Tokens(loaded.tokenizer)
    found = layer_distributions(loaded, encoded.ids, encoded.segments)
    layers = tuple(tuple(likely(tokens, row, settings.n) for row in layer) for layer in found)
    read = tuple(tokens.source(id) for id in encoded.ids)
    result = Lens(model=model_line(loaded), tokens=read, causal=kind == "decoder", layers=layers)
    if output is not None:
        from inlaid.study.probe.layer_pictures import draw_lens

        result = replace(result, output=str(output))
        figures.write(output, draw_lens(result, output.suffix.lower(), report))
    return result
