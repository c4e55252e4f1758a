"""Decoders and T5s against `transformers` on random configs: numbers, texts, counts, there and back.

A family is a row of data: how to draw a config of it, and the classes it may be saved from.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)

from inlaid.errors import FormatError  # noqa: E402
from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.neural.families import all_families  # noqa: E402
from inlaid.neural.generate import GenerationSettings, generate  # noqa: E402
from inlaid.neural.sizes import parameters  # noqa: E402
from inlaid.study.explain.inspect import inspect  # noqa: E402

WORDS = 60
PAD = 0
ENDS = list(range(1, WORDS, 7))
SPECIAL = {"bos_token_id": 2, "eos_token_id": ENDS, "pad_token_id": PAD}
CONFIGS = 20
"""Configs of each family whose numbers are compared."""
WRITTEN = 2
"""Those of them that are also saved, opened there, and used to generate."""
SLIDING = "sliding_attention"
FULL = "full_attention"
NOT_KEPT = (
    "transformers_version",
    "dtype",
    "_name_or_path",
    "use_cache",
    "max_window_layers",  # layer_types says it
    "num_decoder_layers",  # of an encoder alone
    "sliding_window",
    "use_sliding_window",  # where no layer has one
    "rope_parameters",  # with defaults written out
)
"""Keys that may differ after a folder was written again: they say nothing of the network, or the equal
configs and numbers show that they were kept."""


@pytest.fixture(autouse=True, scope="module")
def quiet():
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


# ---- Rows


def rope(random: Random) -> dict[str, Any]:
    kind = random.choice(["default", "linear", "llama3", "yarn"])
    found: dict[str, Any] = {"rope_type": kind, "rope_theta": random.choice([50.0, 500.0, 10_000.0])}
    if kind != "default":
        found["factor"] = random.choice([2.0, 4.0])
    if kind in ("llama3", "yarn"):
        found["original_max_position_embeddings"] = 20
    if kind == "llama3":
        found |= {"low_freq_factor": 0.5, "high_freq_factor": 2.0}
    if kind == "yarn":
        found |= {"beta_slow": 0.3, "beta_fast": 1.5}
    return found


def decoder(random: Random) -> dict[str, Any]:
    heads = random.choice([2, 4])
    return {
        "vocab_size": WORDS,
        "hidden_size": heads * random.choice([4, 6, 8]),
        "num_hidden_layers": random.choice([1, 2, 2, 3]),
        "num_attention_heads": heads,
        "num_key_value_heads": random.choice([1, 2, heads]),
        "intermediate_size": random.randint(10, 40),
        "hidden_act": random.choice(["silu", "gelu", "gelu_pytorch_tanh", "relu"]),
        "rms_norm_eps": random.choice([1e-5, 1e-3]),
        "max_position_embeddings": 40,
        "tie_word_embeddings": random.random() < 0.5,
        "rope_parameters": rope(random),
        **({"is_causal": False} if random.random() < 0.25 else {}),
        **SPECIAL,
    }


def llama(random: Random) -> dict[str, Any]:
    return {
        **decoder(random),
        "attention_bias": random.random() < 0.5,
        "mlp_bias": random.random() < 0.5,
        "head_dim": random.choice([None, 8]),
    }


def mistral(random: Random) -> dict[str, Any]:
    window = random.choice([None, 2, 5, 30])
    return {**decoder(random), "sliding_window": window, "head_dim": random.choice([None, 8])}


def qwen2(random: Random) -> dict[str, Any]:
    config = decoder(random)
    if random.random() < 0.5:
        config |= {"use_sliding_window": True, "sliding_window": random.choice([2, 5, 30])}
        config["max_window_layers"] = random.randint(0, config["num_hidden_layers"])
    return config


def qwen3(random: Random) -> dict[str, Any]:
    return {
        **qwen2(random),
        "attention_bias": random.random() < 0.5,
        "head_dim": random.choice([4, 6, 8]),
    }


def gemma3(random: Random) -> dict[str, Any]:
    config = {key: value for key, value in decoder(random).items() if key not in ("is_causal", "hidden_act")}
    layers = config["num_hidden_layers"]
    return {
        **config,
        "attention_bias": random.random() < 0.5,
        "head_dim": random.choice([4, 6, 8]),
        "hidden_activation": random.choice(["gelu_pytorch_tanh", "silu"]),
        "layer_types": [random.choice([SLIDING, FULL]) for _ in range(layers)],
        "query_pre_attn_scalar": random.choice([4, 7, 16]),
        "rope_parameters": {FULL: rope(random), SLIDING: rope(random)},
        "sliding_window": random.choice([2, 5, 6, 30]),
        "use_bidirectional_attention": random.random() < 0.4,
    }


def t5(random: Random) -> dict[str, Any]:
    layers = random.randint(1, 2)
    return {
        "vocab_size": WORDS,
        "d_model": random.choice([16, 24]),
        "d_kv": random.choice([4, 7]),
        "d_ff": random.randint(10, 40),
        "num_layers": layers,
        "num_decoder_layers": random.randint(1, layers),  # their cache has no room for more
        "num_heads": random.choice([2, 3]),
        "relative_attention_num_buckets": random.choice([6, 8, 32]),
        "relative_attention_max_distance": random.choice([17, 128]),
        "layer_norm_epsilon": random.choice([1e-5, 1e-3]),
        "feed_forward_proj": random.choice(["relu", "gated-gelu", "gated-silu", "gelu"]),
        "decoder_start_token_id": random.choice([PAD, 3]),
        "eos_token_id": ENDS,
        "pad_token_id": PAD,
        **({"tie_word_embeddings": False} if random.random() < 0.5 else {}),
    }


@dataclass(frozen=True)
class Row:
    """A family: its config class, the classes a folder may be saved from, and a draw of config keys."""

    config: str
    classes: tuple[str, ...]
    draw: Callable[[Random], dict[str, Any]]
    std: float = 0.3
    """Of the random weights. T5 does not scale its scores: wide weights would only amplify rounding."""


ROWS = {
    "llama": Row("LlamaConfig", ("LlamaForCausalLM", "LlamaModel"), llama),
    "mistral": Row("MistralConfig", ("MistralForCausalLM", "MistralModel"), mistral),
    "qwen2": Row("Qwen2Config", ("Qwen2ForCausalLM", "Qwen2Model"), qwen2),
    "qwen3": Row("Qwen3Config", ("Qwen3ForCausalLM", "Qwen3Model"), qwen3),
    "gemma3_text": Row("Gemma3TextConfig", ("Gemma3ForCausalLM", "Gemma3TextModel"), gemma3, 0.2),
    "t5": Row("T5Config", ("T5ForConditionalGeneration", "T5EncoderModel", "T5Model"), t5, 0.2),
    "mt5": Row("MT5Config", ("MT5ForConditionalGeneration", "MT5EncoderModel", "MT5Model"), t5, 0.2),
}


@pytest.fixture(params=ROWS)
def family(request: pytest.FixtureRequest) -> str:
    return request.param


def make(family: str, seed: int) -> Any:
    """Their random model, every number of it random, norms too."""
    row = ROWS[family]
    random = Random(f"{family} {seed}")
    torch.manual_seed(seed)
    config = getattr(transformers, row.config)(**row.draw(random))
    model = getattr(transformers, row.classes[seed % len(row.classes)])(config)
    for name, parameter in model.named_parameters():
        is_norm = parameter.dim() == 1 and name.endswith("weight") and family != "gemma3_text"
        torch.nn.init.normal_(parameter, mean=1.0 if is_norm else 0.0, std=row.std)
    return model.eval()


def saved(model: Any, folder: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save_pretrained(folder)
    return folder


def models(family: str, tmp_path: Path, count: int) -> Iterator[tuple[Any, Path]]:
    for seed in range(count):
        model = make(family, seed)
        yield model, saved(model, tmp_path / str(seed))


def batch(seed: int) -> tuple[Any, Any]:
    """One text padded on the left, one on the right, one not at all."""
    torch.manual_seed(seed)
    mask = torch.ones(3, 11, dtype=torch.int64)
    mask[0, :4] = 0
    mask[1, 7:] = 0
    return torch.randint(3, WORDS, (3, 11)).masked_fill(mask == 0, PAD), mask


@torch.no_grad()
def numbers(model: Any, ours: Any, **more: Any) -> tuple[Any, Any]:
    """Logits, or hidden states where there is no head, of the same texts, padding left out."""
    ids, mask = batch(1)
    if ours.config.kind == "seq2seq":
        target = ids[:, 2:8].clone()
        one = model(input_ids=ids, attention_mask=mask, decoder_input_ids=target)
        two = ours.network(ids, target, mask)
        return (one.last_hidden_state, two.hidden) if two.logits is None else (one.logits, two.logits)
    one = model(input_ids=ids, attention_mask=mask, **more)
    two = ours.network(ids, mask)
    real = mask.bool()
    if two.logits is None:
        return one.last_hidden_state[real], two.hidden[real]
    return one.logits[real], two.logits[real]


def in_float64(model: Any) -> Any:
    """Their norms are float32 whatever the model's dtype, and so is the scale of Gemma's embeddings; here
    they are given float64 ones."""
    for module in model.double().modules():
        name = type(module).__name__
        if name.endswith("RMSNorm") or name in ("T5LayerNorm", "MT5LayerNorm"):
            module.forward = lambda x, it=module: float64_norm(x, it)
        if name == "Gemma3TextScaledWordEmbedding":
            module.embed_scale = torch.tensor(math.sqrt(module.embedding_dim), dtype=torch.float64)
    return model


def float64_norm(x: Any, module: Any) -> Any:
    scale = module.weight + 1 if type(module).__name__.startswith("Gemma") else module.weight
    eps = module.variance_epsilon if hasattr(module, "variance_epsilon") else module.eps
    return torch.nn.functional.rms_norm(x, x.shape[-1:], scale, eps)


def test_numbers_and_counts_agree(family: str, tmp_path: Path):
    for seed, (model, folder) in enumerate(models(family, tmp_path, CONFIGS)):
        ours = load_model(folder)
        one, two = numbers(model, ours)
        assert one.abs().max() > 0.1, seed
        assert (one - two).abs().max() < 2e-5, seed
        counted = sum(parameters(ours.config).values())
        assert counted == sum(tensor.numel() for tensor in model.parameters()), seed
        assert counted == sum(tensor.numel() for tensor in ours.network.parameters()), seed
        positions = {}
        if ours.config.positions.kind == "rotary":  # rotations are float32: from the same positions
            positions["position_ids"] = (batch(1)[1].cumsum(1) - 1).clamp(min=0)
        ours.network.double()
        one, two = numbers(in_float64(model), ours, **positions)
        assert (one - two).abs().max() < 1e-12, seed


def test_every_key_of_their_config_is_known(family: str):
    """Each is read, required at a value, or known to have no effect."""
    known = all_families()[family]
    keys = {each.name for each in fields(getattr(transformers, ROWS[family].config))}
    keys -= {each.name for each in fields(transformers.PreTrainedConfig)}
    read = known.read_keys
    assert not read & {*known.no_effect}
    assert keys - read - {*known.no_effect} == set()
    written = known.write(known.read({"model_type": family})).keys()
    assert written <= read | {*known.no_effect, "model_type", "architectures"}


def test_folders_we_write_open_there(family: str, tmp_path: Path):
    for seed, (model, folder) in enumerate(models(family, tmp_path, WRITTEN)):
        ours = load_model(folder)
        here = tmp_path / f"here {seed}"
        save_model(ours, here)
        again, report = type(model).from_pretrained(here, output_loading_info=True)
        assert not any(report.values()), report
        assert torch.equal(numbers(again.eval(), ours)[0], numbers(model, ours)[0]), seed
        assert load_model(here).config == ours.config
        assert inspect(here).parameters == sum(tensor.numel() for tensor in model.parameters())
        after = again.config.to_dict()
        for key, value in model.config.to_dict().items():
            assert key in NOT_KEPT or after[key] == value or value is None, (seed, key)


@torch.no_grad()
def test_attention_weights_and_layers_agree(family: str, tmp_path: Path):
    for seed, (model, folder) in enumerate(models(family, tmp_path, WRITTEN)):
        ours = load_model(folder)
        model.set_attn_implementation("eager")
        ids, mask = batch(1)
        if ours.config.kind == "seq2seq":
            layers = range(ours.config.layers)
            one = model.get_encoder()(
                input_ids=ids, attention_mask=mask, output_attentions=True, output_hidden_states=True
            )
            two = ours.network.encode(ids, mask, layers=True, attention=layers).output  # pyright: ignore
        else:
            layers = range(ours.config.layers)
            one = model(input_ids=ids, attention_mask=mask, output_attentions=True, output_hidden_states=True)
            two = ours.network(ids, mask, layers=True, attention=layers)
        real = mask.bool()
        for layer in layers:
            there = one.attentions[layer].transpose(1, 2)[real]
            here = two.attention[layer].transpose(1, 2)[real]
            assert (there - here).abs().max() < 1e-5, (seed, layer)
        for there, here in zip(one.hidden_states, two.layers, strict=True):
            assert (there[real] - here[real]).abs().max() < 2e-5, seed


def writers(family: str, tmp_path: Path) -> Iterator[tuple[Any, Path]]:
    """Models that generate."""
    found = 0
    for seed in range(CONFIGS):
        model = make(family, seed)
        both_ways = not getattr(model.config, "is_causal", True) or getattr(
            model.config, "use_bidirectional_attention", False
        )
        if seed % len(ROWS[family].classes) or both_ways:
            continue
        yield model, saved(model, tmp_path / str(seed))
        found += 1
        if found == WRITTEN:
            return


@pytest.mark.parametrize("beams", [1, 3])
def test_texts_agree(family: str, beams: int, tmp_path: Path):
    """Longer than the windows, with a cache and without."""
    for model, folder in writers(family, tmp_path):
        ours = load_model(folder)
        ids, mask = batch(2)
        ids = ids[[0, 2]]  # padding on the left, as decoders need it
        mask = mask[[0, 2]]
        expected = model.generate(
            ids, attention_mask=mask, num_beams=beams, max_new_tokens=12, do_sample=False
        )
        method = "greedy" if beams == 1 else "beam"
        settings = GenerationSettings(method=method, beams=beams, max_new_tokens=12)
        found = generate(ours, ids, mask, settings)
        start = ids.shape[1] if ours.config.kind == "decoder" else 1
        assert [cut(row[start:]) for row in expected.tolist()] == found
        assert found == generate(ours, ids, mask, replace(settings, use_cache=False))


def cut(row: list[int]) -> list[int]:
    """Up to and with the first end; what follows is padding."""
    return row[: min((row.index(end) for end in ENDS if end in row), default=len(row)) + 1]


# ---- Folders as they are met


def rewrite(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    tensors = change(load_file(file))
    save_file({name: tensor.clone() for name, tensor in tensors.items()}, file, {"format": "pt"})


def test_a_bias_that_a_converted_llama_lacks_is_zero(tmp_path: Path):
    """Qwen2 written as Llama has biases in queries, keys and values only."""
    config = {**llama(Random(1)), "attention_bias": True, "num_hidden_layers": 2, "is_causal": True}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    folder = saved(model.eval(), tmp_path / "there")
    rewrite(folder, lambda tensors: {name: tensors[name] for name in tensors if "o_proj.bias" not in name})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = transformers.LlamaForCausalLM.from_pretrained(folder).eval()
    ours = load_model(folder)
    one, two = numbers(theirs, ours)
    assert (one - two).abs().max() < 2e-5
    assert (one - numbers(model, ours)[0]).abs().max() > 1e-3  # the bias did matter
    assert "not stored, so zero: model.layers.1.self_attn.o_proj.bias" in ours.card.notes
    save_model(ours, tmp_path / "here")
    assert torch.equal(numbers(theirs, load_model(tmp_path / "here"))[1], two)
    rewrite(folder, lambda tensors: {name: tensors[name] for name in tensors if "q_proj.bias" not in name})
    with pytest.raises(FormatError, match=r"lack model.layers.0.self_attn.q_proj.bias"):
        load_model(folder)


def test_embedding_models_saved_without_their_head(tmp_path: Path):
    """Their config.json often names the class with a head that they were trained from."""
    config = transformers.Qwen2Config(**{**qwen2(Random(2)), "tie_word_embeddings": False})
    model = transformers.Qwen2Model(config).eval()
    folder = saved(model, tmp_path / "there")
    raw = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**raw, "architectures": ["Qwen2ForCausalLM"]}))
    ours = load_model(folder)
    assert ours.config.head.kind == "none"
    assert "the weights have no head, though config.json says Qwen2ForCausalLM" in ours.card.notes
    assert inspect(folder).parameters == sum(tensor.numel() for tensor in model.parameters())
    one, two = numbers(model, ours)
    assert (one - two).abs().max() < 2e-5


def test_the_encoder_of_a_whole_t5(tmp_path: Path):
    """sentence-t5 folders say T5EncoderModel; some still hold the decoder, or one copy of the table."""
    model = make("t5", 0)
    encoder = transformers.T5EncoderModel(model.config).eval()
    encoder.load_state_dict(model.state_dict(), strict=False)
    folder = saved(encoder, tmp_path / "there")
    alone = load_model(folder)
    rewrite(folder, lambda tensors: {**model.state_dict(), **tensors, "lm_head.weight": torch.zeros(60, 1)})
    ours = load_model(folder)
    one, two = numbers(encoder, ours)
    assert (one - two).abs().max() < 2e-5
    assert "not used: lm_head.weight" in ours.card.notes
    moved = {"encoder.embed_tokens.weight": model.shared.weight.detach()}
    rewrite(folder, lambda tensors: {**without(alone, tensors), **moved})
    assert (numbers(encoder, load_model(folder))[1] - two).abs().max() == 0


def without(ours: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    kept = {name for name in tensors if name.startswith("encoder.")}
    assert len(kept) >= len(ours.network.state_dict()) - 1
    return {name: tensors[name] for name in kept}


def test_dense_act_fn_decides(tmp_path: Path):
    config = transformers.T5Config(**{**t5(Random(3)), "feed_forward_proj": "relu", "dense_act_fn": "silu"})
    model = transformers.T5EncoderModel(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    one, two = numbers(model, load_model(saved(model, tmp_path / "there")))
    assert (one - two).abs().max() < 2e-5


@pytest.mark.parametrize("scaling", [None, {"rope_type": "linear", "factor": 3.0}])
def test_older_configs_of_gemma3(scaling: dict[str, Any] | None, tmp_path: Path):
    """They list neither the types of the layers nor the rotations of each."""
    raw = {
        key: value
        for key, value in gemma3(Random(5)).items()
        if key not in ("layer_types", "rope_parameters")
    }
    raw |= {"num_hidden_layers": 4, "sliding_window_pattern": 3, "sliding_window": 3, "rope_theta": 300.0}
    raw |= {"rope_local_base_freq": 40.0, "rope_scaling": scaling}
    model = transformers.Gemma3TextModel(transformers.Gemma3TextConfig(**raw)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    folder = saved(model, tmp_path / "there")
    older = {"model_type": "gemma3_text", "architectures": ["Gemma3TextModel"], **raw}
    (folder / "config.json").write_text(json.dumps(older))
    ours = load_model(folder)
    one, two = numbers(model, ours)
    assert (one - two).abs().max() < 2e-5
    assert ours.config.attention.global_layers == (2,)
