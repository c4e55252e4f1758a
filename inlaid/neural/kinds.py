"""Kinds of model: what each can be used for, and the base of Model. Importing this needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inlaid.errors import SettingError
from inlaid.formats.huggingface import CONFIG
from inlaid.messages import Advice, Message
from inlaid.untrusted import read_json

if TYPE_CHECKING:
    from inlaid.neural.model import Model

USES = {
    "encoder": ("fill", "embed"),
    "decoder": ("generate", "next", "embed"),
    "seq2seq": ("translate", "generate", "next", "embed"),
    "bilm": ("embed",),
}
"""Commands for each kind of network, the one that fits it best first."""
ABILITIES = {
    "fill": Message("fill a blank"),
    "embed": Message("embed texts"),
    "generate": Message("generate text"),
    "next": Message("predict the next token"),
    "translate": Message("translate"),
}
"""What a model does in each of these commands."""
STATIC = ("StaticEmbedding", "model2vec")
"""What the folders of word vectors are called: by their first module, or by their model type."""


class AnyModel:
    """The base of `Model`: signatures and checks name it without importing torch."""


def is_model_folder(path: Path) -> bool:
    """Whether a path is the folder of a network; a folder of word vectors for another library is none."""
    if not path.is_dir():
        return False
    modules = path / "modules.json"
    if modules.is_file():
        return STATIC[0] not in str(_first(read_json(modules)))
    if (path / CONFIG).is_file():
        config = read_json(path / CONFIG)
        return not (isinstance(config, dict) and config.get("model_type") == STATIC[1])
    return (path / "options.json").is_file()  # ELMo's


def _first(modules: Any) -> Any:
    return modules[0] if isinstance(modules, Sequence) and modules else ""


def check_use(model: Any, use: str) -> Model:
    """The model, if it can be used so; otherwise a SettingError names what fits its kind."""
    if not isinstance(model, AnyModel):
        raise SettingError(
            "{use} takes a model; found {found}. {advice}",
            use=use,
            found=type(model).__name__,
            advice=Advice(
                typed=Message("Name the folder of one, with config.json and its weights."),
                called=Message("Load one with inlaid.load_model(folder)."),
            ),
        )
    loaded: Any = model
    kind = loaded.config.kind
    if use not in uses_of(loaded):
        raise SettingError(
            "A model of kind {kind} cannot {ability}. Use {instead} with it.",
            kind=kind,
            ability=ABILITIES[use],
            instead=_instead(USES[kind][0]),
        )
    if use != "embed" and loaded.network.head is None:
        raise SettingError(
            "This model was saved without an output layer for words, so it cannot {ability}. Use {instead} "
            "with it, or the folder of the class that has the layer ({classes}).",
            ability=ABILITIES[use],
            instead=_instead("embed"),
            classes="ForMaskedLM" if kind == "encoder" else "LMHeadModel, ForCausalLM, MTModel",
        )
    if use != "embed" and loaded.tokenizer is None:
        raise SettingError(
            "This model's folder has no tokenizer.json, so it cannot read text. Put the tokenizer next to "
            "the weights."
        )
    return loaded


def uses_of(model: Any) -> tuple[str, ...]:
    """What a model can be used for: by its kind, and a decoder that was trained to translate for that."""
    uses = USES[model.config.kind]
    prompted = model.config.kind == "decoder" and model.card.method == "translation"
    return ("translate", *uses) if prompted else uses


def _instead(use: str) -> Advice:
    return Advice(
        typed=Message("`inlaid {use}`", use=use), called=Message("inlaid.{use}(model, ...)", use=use)
    )
