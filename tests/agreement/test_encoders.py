"""Encoders against the `transformers` library: random configs of every family, there and back.

A family is a row of `FAMILIES`. Of each, `CONFIGS` random configs are drawn; biases, norms and tables are
random too, since their defaults of 0 and 1 hide mistakes.
"""

from __future__ import annotations

import json
import random
import warnings
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)

from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.neural.families import all_families, read_config  # noqa: E402
from inlaid.study.explain.inspect import inspect  # noqa: E402

CONFIGS = 20
WORDS = 40
LENGTH = 13


@dataclass(frozen=True)
class Encoder:
    """How the configs of a family are drawn: each key from its values."""

    config: str
    classes: tuple[str, ...]
    values: dict[str, tuple[Any, ...]]
    padding: int = 0
    counts_positions: bool = False
    """It counts its positions from the ids; other families are told them, where padding is on the left."""
    inputs: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Other inputs: their name -> ours, and the key with the number of rows."""
    configs: int = CONFIGS
    """How many are drawn."""


SIZES = {
    "vocab_size": (WORDS,),
    "num_hidden_layers": (1, 2),
    "num_attention_heads": (1, 2, 4),
    "hidden_size": (8, 16),
    "intermediate_size": (12, 20),
    "tie_word_embeddings": (True, True, False),
}
NORMS = {"layer_norm_eps": (1e-12, 1e-5, 1e-2)}
ACTIVATIONS = ("gelu", "relu", "gelu_new", "silu")
BERT = {
    **SIZES,
    **NORMS,
    "hidden_act": ACTIVATIONS,
    "max_position_embeddings": (LENGTH, 20),
    "type_vocab_size": (1, 2, 3),
}
ROBERTA = {
    **BERT,
    "max_position_embeddings": (LENGTH + 2, 20),
    "bos_token_id": (0, 4),
    "eos_token_id": (2, 3),
}
SEGMENTS = {"token_type_ids": ("segments", "type_vocab_size")}
ROPE = (
    {"rope_theta": 30.0, "rope_type": "default"},
    {"rope_theta": 1000.0, "rope_type": "default"},
    {"rope_theta": 500.0, "rope_type": "linear", "factor": 3.0},
)
FAMILIES = {
    "bert": Encoder("BertConfig", ("BertForMaskedLM", "BertModel"), BERT, inputs=SEGMENTS),
    "roberta": Encoder(
        "RobertaConfig", ("RobertaForMaskedLM", "RobertaModel"), ROBERTA, 1, True, inputs=SEGMENTS
    ),
    "xlm-roberta": Encoder(
        "XLMRobertaConfig", ("XLMRobertaForMaskedLM", "XLMRobertaModel"), ROBERTA, 1, True, inputs=SEGMENTS
    ),
    "camembert": Encoder(
        "CamembertConfig",
        ("CamembertForMaskedLM", "CamembertModel"),
        ROBERTA,
        padding=1,
        counts_positions=True,
        inputs=SEGMENTS,
        configs=6,  # XLM-RoBERTa's code, by another name
    ),
    "mpnet": Encoder(
        "MPNetConfig",
        ("MPNetForMaskedLM", "MPNetModel"),
        {key: values for key, values in ROBERTA.items() if key != "type_vocab_size"},
        1,
        True,
    ),
    "distilbert": Encoder(
        "DistilBertConfig",
        ("DistilBertForMaskedLM", "DistilBertModel"),
        {
            "vocab_size": (WORDS,),
            "n_layers": (1, 2),
            "n_heads": (1, 2, 4),
            "dim": (8, 16),
            "hidden_dim": (12, 20),
            "activation": ACTIVATIONS,
            "max_position_embeddings": (LENGTH, 20),
            "sinusoidal_pos_embds": (False, True),
            "tie_word_embeddings": (True, True, False),
        },
    ),
    "electra": Encoder(
        "ElectraConfig",
        ("ElectraForPreTraining", "ElectraForMaskedLM", "ElectraModel"),
        {**BERT, "embedding_size": (4, 8, 16)},
        inputs=SEGMENTS,
    ),
    "ernie": Encoder(
        "ErnieConfig",
        ("ErnieForMaskedLM", "ErnieModel"),
        {**BERT, "use_task_id": (True, True, False), "task_type_vocab_size": (2, 3)},
        inputs={**SEGMENTS, "task_type_ids": ("tasks", "task_type_vocab_size")},
    ),
    "modernbert": Encoder(
        "ModernBertConfig",
        ("ModernBertForMaskedLM", "ModernBertModel"),
        {
            **SIZES,
            "num_hidden_layers": (1, 3, 4),
            "pad_token_id": (0,),
            "hidden_activation": ACTIVATIONS,
            "classifier_activation": ACTIVATIONS,
            "norm_eps": (1e-5, 1e-2),
            "norm_bias": (False, True),
            "attention_bias": (False, True),
            "mlp_bias": (False, True),
            "decoder_bias": (True, False),
            "classifier_bias": (False, True),
            "local_attention": (0, 2, 5, 8, 128),
            "global_attn_every_n_layers": (1, 2, 3),
            "rope_parameters": (
                None,
                {"full_attention": dict(ROPE[0]), "sliding_attention": dict(ROPE[1])},
                {"full_attention": dict(ROPE[2]), "sliding_attention": dict(ROPE[0])},
            ),
            "max_position_embeddings": (32,),
        },
    ),
    "nomic_bert": Encoder(
        "NomicBertConfig",
        ("NomicBertForMaskedLM", "NomicBertModel"),
        {
            **{key: values for key, values in SIZES.items() if key != "tie_word_embeddings"},
            **NORMS,
            "hidden_act": ("silu", "gelu"),
            "type_vocab_size": (1, 2),
            "head_dim": (None, 6),
            "rope_parameters": (None, *ROPE),
            "max_position_embeddings": (32,),
        },
        inputs=SEGMENTS,
    ),
}


@pytest.fixture(autouse=True, scope="module")
def quiet():
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def theirs(name: str, seed: int) -> Any:
    """A random model of a random config; every class of the family is drawn."""
    row = FAMILIES[name]
    draw = random.Random(f"{name} {seed}")
    values = {key: draw.choice(choices) for key, choices in row.values.items()}
    values = {key: dict(value) if isinstance(value, dict) else value for key, value in values.items()}
    config = getattr(transformers, row.config)(**values)
    torch.manual_seed(seed)
    model = getattr(transformers, row.classes[seed % len(row.classes)])(config)
    for part, parameter in model.named_parameters():
        norm = parameter.dim() == 1 and part.endswith("weight")
        torch.nn.init.normal_(parameter, mean=1.0 if norm else 0.0, std=0.3)
    for one, two in repeated_biases(model):
        one.data.copy_(two)  # the second counts there; two that differ are refused here
    return model.eval()


def repeated_biases(model: Any) -> list[tuple[Any, Any]]:
    """Their untied masked heads have a bias for the words twice."""
    parameters = dict(model.named_parameters())
    names = [(f"{part}.bias", f"{part}.decoder.bias") for part in ("cls.predictions", "lm_head")]
    return [(parameters[one], parameters[two]) for one, two in names if two in parameters]


def batch(row: Encoder, model: Any, side: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same batch for them and for us: one full row, two padded ones."""
    torch.manual_seed(7)
    ids = torch.randint(5, WORDS, (3, LENGTH))
    mask = torch.ones(3, LENGTH, dtype=torch.int64)
    for text, length in ((1, 9), (2, 1)):
        mask[text, length:] = 0
    if side == "left":
        mask = mask.flip(1)
    ids = ids.masked_fill(mask == 0, row.padding)
    their = {"input_ids": ids, "attention_mask": mask}
    our = {"ids": ids, "mask": mask}
    if not row.counts_positions:
        their["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
    for name, (our_name, rows) in row.inputs.items():
        if our_name == "tasks" and not model.config.use_task_id:
            continue
        values = ids % getattr(model.config, rows)
        their[name] = values
        our[our_name] = values
    return their, our


@torch.no_grad()
def difference(row: Encoder, model: Any, network: Any) -> float:
    """The largest of logits, hidden states of all layers and pooled outputs, on real tokens."""
    largest = 0.0
    for side in ("left", "right"):
        their, our = batch(row, model, side)
        one = model(**their, output_hidden_states=True)
        two = network(**our, layers=True)
        real = our["mask"].bool()
        pairs = list(zip(one.hidden_states[:-1], two.layers[:-1], strict=True))
        if two.logits is None:
            pairs.append((one.last_hidden_state, two.hidden))
        else:
            pairs.append((one.logits, two.logits.squeeze(-1)))
        if two.pooled is not None and side == "right":
            assert (one.pooler_output - two.pooled).abs().max() < 2e-5
        assert one.hidden_states[-1][real].abs().max() > 0.5
        largest = max(largest, *(float((a[real] - b[real]).abs().max()) for a, b in pairs))
    return largest


def saved(model: Any, folder: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save_pretrained(folder)
    return folder


def in_float64(model: Any, patch: pytest.MonkeyPatch) -> Any:
    """The model in float64. Where it rotates in float32 all the same, it is given rotations in float64."""

    def rotate(q: Any, k: Any, cos: Any, sin: Any, unsqueeze_dim: int = 1) -> Any:
        cos = cos.unsqueeze(unsqueeze_dim)
        sin = sin.unsqueeze(unsqueeze_dim)
        return tuple(x * cos + module.rotate_half(x) * sin for x in (q, k))

    module = transformers.models.modernbert.modeling_modernbert
    patch.setattr(module, "apply_rotary_pos_emb", rotate)
    return model.double()


@pytest.mark.parametrize(
    ("name", "seed"), [(name, seed) for name, row in FAMILIES.items() for seed in range(row.configs)]
)
def test_random_configs_agree(name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    row = FAMILIES[name]
    model = theirs(name, seed)
    ours = load_model(saved(model, tmp_path / "there"))
    assert difference(row, model, ours.network) < 2e-5
    count = sum(each.numel() for each in model.parameters()) - WORDS * len(repeated_biases(model))
    assert inspect(tmp_path / "there").parameters == count
    if seed % 5 == 0:  # every class is among them
        save_model(ours, tmp_path / "here")
        again, report = type(model).from_pretrained(tmp_path / "here", output_loading_info=True)
        assert not any(report.values()), report
        assert difference(row, again.eval(), ours.network) < 2e-5
        assert load_model(tmp_path / "here").config == ours.config
        assert again.config.model_type == name
    assert difference(row, in_float64(model, monkeypatch), ours.network.double()) < 1e-12


@pytest.mark.parametrize("name", FAMILIES)
def test_every_key_of_their_config_is_known(name: str):
    """Each is read, required at a value, or known to have no effect."""
    family = all_families()[name]
    config = getattr(transformers, FAMILIES[name].config)
    keys = {each.name for each in fields(config)} - {
        each.name for each in fields(transformers.PreTrainedConfig)
    }
    read = family.read_keys
    assert not read & {*family.no_effect}
    assert keys - read - {*family.no_effect} == set()
    written = family.write(read_config({"model_type": name})).keys()
    assert written <= read | {*family.no_effect, "model_type", "architectures"}


FIRST_NOMIC = {
    "model_type": "nomic_bert",
    "architectures": ["NomicBertModel"],
    "activation_function": "swiglu",
    "causal": False,
    "layer_norm_epsilon": 1e-5,
    "n_embd": 16,
    "n_head": 2,
    "n_inner": 20,
    "n_layer": 2,
    "n_positions": 32,
    "prenorm": False,
    "rotary_emb_base": 700,
    "rotary_emb_fraction": 1.0,
    "rotary_scaling_factor": None,
    "type_vocab_size": 2,
    "use_flash_attn": True,
    "vocab_size": WORDS,
}


def test_the_first_nomic_folders_are_read(tmp_path: Path):
    """Their config.json has keys of its own, which `transformers` takes for no keys at all."""
    config = transformers.NomicBertConfig(
        vocab_size=WORDS,
        hidden_size=16,
        num_attention_heads=2,
        num_hidden_layers=2,
        intermediate_size=20,
        max_position_embeddings=32,
        layer_norm_eps=1e-5,
        rope_theta=700.0,
    )
    torch.manual_seed(1)
    model = transformers.NomicBertModel(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    folder = saved(model, tmp_path / "there")
    (folder / "config.json").write_text(json.dumps(FIRST_NOMIC))
    assert difference(FAMILIES["nomic_bert"], model, load_model(folder).network) < 2e-5


@pytest.mark.parametrize("name", FAMILIES)
@torch.no_grad()
def test_attention_weights_agree(name: str, tmp_path: Path):
    for seed in range(2):
        model = theirs(name, seed)
        ours = load_model(saved(model, tmp_path / str(seed)))
        model.set_attn_implementation("eager")
        for side in ("left", "right"):
            their, our = batch(FAMILIES[name], model, side)
            one = model(**their, output_attentions=True).attentions
            two = ours.network(**our, attention=range(ours.config.layers)).attention
            real = our["mask"].bool()
            for layer, weights in enumerate(one):
                their_rows = weights.transpose(1, 2)[real]
                assert (their_rows - two[layer].transpose(1, 2)[real]).abs().max() < 1e-5
