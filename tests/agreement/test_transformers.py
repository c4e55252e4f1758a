"""Our networks against the `transformers` library: the same folder, the same numbers, there and back."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)

from inlaid.errors import FormatError, SettingError  # noqa: E402
from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.neural.generate import GenerationSettings, generate  # noqa: E402
from inlaid.neural.model import Model  # noqa: E402
from inlaid.neural.network import make_network  # noqa: E402

WORDS = 60
PAD = 0
ENDS = list(range(1, WORDS, 6))
"""Many, so that searches of a random model do end now and then."""
KINDS = [
    "bert",
    "bert-bare",
    "roberta",
    "roberta-one",
    "roberta-untied",
    "roberta-bare",
    "gpt2",
    "gpt2-bare",
    "gpt2-untied",
    "llama",
    "llama-tied",
    "llama-bare",
    "llama-linear",
    "llama-llama3",
    "llama-yarn",
    "llama-bias",
    "qwen2",
    "qwen2-tied",
    "qwen2-yarn",
    "qwen2-bare",
    "t5",
    "t5-gated",
    "t5-untied",
    "t5-sides",
    "t5-writes",
    "marian",
    "marian-relu",
    "marian-untied",
    "marian-sides",
    "marian-three",
    "marian-bare",
]
EXACT = [
    "bert",
    "roberta",
    "roberta-untied",
    "gpt2",
    "marian",
    "marian-untied",
    "marian-sides",
    "marian-three",
]
UNSHARED = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 50}
ROPE = {
    "linear": {"rope_theta": 5000.0, "rope_type": "linear", "factor": 3.0},
    "llama3": {
        "rope_theta": 500.0,
        "rope_type": "llama3",
        "factor": 8.0,
        "original_max_position_embeddings": 20,
        "low_freq_factor": 0.5,
        "high_freq_factor": 2.0,
    },
    "yarn": {
        "rope_theta": 500.0,
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 20,
        "beta_slow": 0.3,
        "beta_fast": 1.5,
        "attention_factor": 1.1386294361119891,
    },
}
"""Chosen so that of the four rotations of a head some are kept, some slowed, and one is in between."""
SPECIAL = {"bos_token_id": 2, "eos_token_id": ENDS, "pad_token_id": PAD}


@pytest.fixture(autouse=True, scope="module")
def quiet():
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def theirs(kind: str) -> Any:
    """A tiny random model, biases and norms random too: their defaults of 0 and 1 hide mistakes."""
    torch.manual_seed(sum(map(ord, kind)))
    t = transformers
    size = {
        "vocab_size": WORDS,
        "hidden_size": 24,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 40,
    }
    bert = {**size, "layer_norm_eps": 1e-3, "type_vocab_size": 3}  # never the defaults: those need no reading
    roberta = {**bert, "max_position_embeddings": 20, "bos_token_id": 4, "pad_token_id": 1, "eos_token_id": 3}
    gpt2 = {
        "layer_norm_epsilon": 1e-3,
        "vocab_size": WORDS,
        "n_embd": 24,
        "n_layer": 3,
        "n_head": 4,
        "n_positions": 40,
        **SPECIAL,
    }
    llama = {**size, "rms_norm_eps": 1e-3, "num_key_value_heads": 2, "max_position_embeddings": 40, **SPECIAL}
    t5 = {"vocab_size": WORDS, "d_model": 24, "d_kv": 8, "d_ff": 40, "num_layers": 3, "num_heads": 4}
    t5 |= {
        "layer_norm_epsilon": 1e-3,
        "relative_attention_num_buckets": 8,
        "relative_attention_max_distance": 9,
    }
    t5 |= {"decoder_start_token_id": PAD, "eos_token_id": ENDS}
    marian = {
        "vocab_size": WORDS,
        "d_model": 24,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "encoder_attention_heads": 4,
        "scale_embedding": True,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 40,
        "decoder_ffn_dim": 40,
        "max_position_embeddings": 40,
        "pad_token_id": PAD,
        "decoder_start_token_id": PAD,
        "eos_token_id": ENDS,
        "forced_eos_token_id": ENDS[0],
    }
    makers = {
        "bert": lambda: t.BertForMaskedLM(t.BertConfig(**bert, max_position_embeddings=40)),
        "bert-bare": lambda: t.BertModel(t.BertConfig(**bert, max_position_embeddings=40)),
        "roberta": lambda: t.RobertaForMaskedLM(t.RobertaConfig(**roberta)),
        "roberta-one": lambda: t.RobertaForMaskedLM(t.RobertaConfig(**{**roberta, "type_vocab_size": 1})),
        "roberta-untied": lambda: t.RobertaForMaskedLM(t.RobertaConfig(**roberta, tie_word_embeddings=False)),
        "roberta-bare": lambda: t.RobertaModel(t.RobertaConfig(**{**roberta, "pad_token_id": 5})),
        "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(**gpt2)),
        "gpt2-bare": lambda: t.GPT2Model(t.GPT2Config(**gpt2, n_inner=50)),
        "gpt2-untied": lambda: t.GPT2LMHeadModel(t.GPT2Config(**gpt2, tie_word_embeddings=False)),
        "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**llama)),
        "llama-tied": lambda: t.LlamaForCausalLM(
            t.LlamaConfig(**llama, tie_word_embeddings=True, head_dim=8, rope_theta=5000.0)
        ),
        "llama-bare": lambda: t.LlamaModel(t.LlamaConfig(**llama, attention_bias=True, mlp_bias=True)),
        **{
            f"llama-{kind}": lambda rope=rope: t.LlamaForCausalLM(
                t.LlamaConfig(**llama, head_dim=8, rope_parameters=dict(rope))
            )
            for kind, rope in ROPE.items()
        },
        "llama-bias": lambda: t.LlamaForCausalLM(t.LlamaConfig(**llama, attention_bias=True)),
        "qwen2": lambda: t.Qwen2ForCausalLM(t.Qwen2Config(**llama)),
        "qwen2-tied": lambda: t.Qwen2ForCausalLM(
            t.Qwen2Config(**llama, tie_word_embeddings=True, rope_theta=5000.0)
        ),
        "qwen2-yarn": lambda: t.Qwen2ForCausalLM(t.Qwen2Config(**llama, rope_parameters=dict(ROPE["yarn"]))),
        "qwen2-bare": lambda: t.Qwen2Model(t.Qwen2Config(**llama)),
        "t5": lambda: t.T5ForConditionalGeneration(t.T5Config(**t5)),
        **dict.fromkeys(
            ("t5-untied", "t5-sides", "t5-writes"),
            lambda: t.T5ForConditionalGeneration(t.T5Config(**t5)),
        ),
        "t5-gated": lambda: t.T5ForConditionalGeneration(
            t.T5Config(**t5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
        ),
        "marian": lambda: t.MarianMTModel(t.MarianConfig(**marian)),
        "marian-relu": lambda: t.MarianMTModel(
            t.MarianConfig(**{**marian, "scale_embedding": False}, activation_function="relu")
        ),
        "marian-untied": lambda: t.MarianMTModel(t.MarianConfig(**marian, tie_word_embeddings=False)),
        "marian-sides": lambda: t.MarianMTModel(t.MarianConfig(**marian, **UNSHARED)),
        "marian-three": lambda: t.MarianMTModel(
            t.MarianConfig(**marian, **UNSHARED, tie_word_embeddings=False)
        ),
        "marian-bare": lambda: t.MarianModel(t.MarianConfig(**marian, **UNSHARED)),
    }
    made = makers[kind]()
    for part in {
        "t5-untied": "lm_head",
        "t5-sides": "encoder.embed_tokens",
        "t5-writes": "decoder.embed_tokens",
    }.get(kind, "").split():
        made.get_submodule(part).weight = torch.nn.Parameter(
            torch.empty(WORDS, 24)
        )  # T5 keeps apart whatever differs
    for name, parameter in made.named_parameters():
        if "embed_positions" not in name:  # Marian's are waves, not weights
            norm = parameter.dim() == 1 and name.endswith("weight")
            # T5 does not scale its scores: wide weights would only show how it amplifies rounding
            torch.nn.init.normal_(
                parameter, mean=1.0 if norm else 0.0, std=0.2 if kind.startswith("t5") else 0.3
            )
    if (
        kind == "roberta-untied"
    ):  # untied, only the decoder's bias counts there; two that differ are refused here
        made.lm_head.bias.data.copy_(made.lm_head.decoder.bias)
    if hasattr(made, "final_logits_bias"):
        made.final_logits_bias.normal_()
    return made.eval()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def saved(model: Any, folder: Path, **options: Any) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save_pretrained(folder, **options)
    return folder


def batch(padding: int = PAD) -> tuple[Any, Any]:
    torch.manual_seed(7)
    ids = torch.randint(6, WORDS, (3, 11)) if padding else torch.randint(2, WORDS, (3, 11))
    mask = torch.ones(3, 11, dtype=torch.int64)
    mask[1, 8:] = 0
    return ids.masked_fill(mask == 0, padding), mask


@torch.no_grad()
def both(model: Any, ours: Any) -> tuple[Any, Any]:
    """Logits (hidden states where there is no head) of the same batch, padding left out."""
    ids, mask = batch(ours.config.special.padding or PAD)
    if ours.config.kind == "seq2seq":
        target = torch.randint(2, ours.config.output_vocab_size, (3, 6))
        one = model(input_ids=ids, attention_mask=mask, decoder_input_ids=target)
        two = ours.network(ids, target, mask)
        return (one.last_hidden_state, two.hidden) if two.logits is None else (one.logits, two.logits)
    types = ours.config.segment_types
    more = {"token_type_ids": ids % types} if types else {}
    one = model(input_ids=ids, attention_mask=mask, **more)
    two = ours.network(ids, mask, **({"segments": ids % types} if more else {}))
    real = mask.bool()
    if two.logits is None:
        return one.last_hidden_state[real], two.hidden[real]
    return one.logits[real], two.logits[real]


def test_float32_logits_agree(kind: str, tmp_path: Path):
    model = theirs(kind)
    one, two = both(model, load_model(saved(model, tmp_path / "there")))
    assert one.abs().max() > 0.5
    assert (one - two).abs().max() < 2e-5


@pytest.mark.parametrize("kind", EXACT)
def test_float64_logits_agree(kind: str, tmp_path: Path):
    model = theirs(kind)
    ours = load_model(saved(model, tmp_path / "there"), dtype=torch.float64)
    one, two = both(model.double(), ours)
    assert (one - two).abs().max() < 1e-12


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith(("llama", "qwen2", "t5"))])
def test_float64_logits_agree_where_their_norms_are_float64_too(kind: str, tmp_path: Path):
    """Theirs compute norms in float32 whatever the model's type; here they are given ours."""
    model = theirs(kind)
    ours = load_model(saved(model, tmp_path / "there"), dtype=torch.float64)
    for module in model.double().modules():
        if type(module).__name__ in ("LlamaRMSNorm", "Qwen2RMSNorm", "T5LayerNorm"):
            module.forward = lambda x, it=module: torch.nn.functional.rms_norm(
                x, x.shape[-1:], it.weight, 1e-3
            )
    one, two = both(model, ours)
    assert (one - two).abs().max() < 1e-12


def test_folders_we_write_open_there(kind: str, tmp_path: Path):
    model = theirs(kind)
    ours = load_model(saved(model, tmp_path / "there"))
    save_model(ours, tmp_path / "here")
    again, report = type(model).from_pretrained(tmp_path / "here", output_loading_info=True)
    report["missing_keys"] = {
        name for name in report["missing_keys"] if "embed_positions" not in name
    }  # waves, not weights
    assert not any(report.values()), report
    one, two = both(again.eval(), load_model(tmp_path / "here"))
    assert (one - two).abs().max() < 2e-5
    assert torch.equal(one, both(model, ours)[0])
    assert load_model(tmp_path / "here").config == ours.config
    if model.can_generate():
        assert again.generation_config.to_diff_dict() == model.generation_config.to_diff_dict()
    for key, value in model.config.to_dict().items():
        if kind == "marian-untied" and key == "share_encoder_decoder_embeddings":
            continue  # it says that they are shared, and does not share them
        if key not in (
            "transformers_version",
            "dtype",
            "torch_dtype",
            "_name_or_path",
            "head_dim",
            "n_inner",
            "id2label",
            "label2id",
            "forced_eos_token_id",  # in generation_config.json
        ):
            assert again.config.to_dict()[key] == value or value is None, key


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "llama", "qwen2", "t5", "marian"])
def test_what_we_untie_is_untied_there(kind: str, tmp_path: Path):
    """One input table and another for the output: their classes untie more than that, unless every table is
    stored."""
    model = theirs(kind)
    config = load_model(saved(model, tmp_path / "there")).config.replace({"head.tied": False})
    ours = Model(make_network(config).eval())
    for parameter in ours.network.parameters():
        torch.nn.init.normal_(parameter, mean=1.0 if parameter.dim() == 1 else 0.0, std=0.2)
    save_model(ours, tmp_path / "here")
    again, report = type(model).from_pretrained(tmp_path / "here", output_loading_info=True)
    assert not any(report.values()), report
    one, two = both(again.eval(), ours)
    assert (one - two).abs().max() < 2e-5


@pytest.mark.parametrize("kind", ["roberta", "gpt2", "llama", "qwen2", "t5"])
def test_shards_and_old_files_hold_the_same(kind: str, tmp_path: Path):
    model = theirs(kind)
    whole = load_model(saved(model, tmp_path / "whole")).network.state_dict()
    sharded = saved(model, tmp_path / "sharded", max_shard_size="10KB")
    assert len(list(sharded.glob("*.safetensors"))) > 2
    old = tmp_path / "old"
    old.mkdir()
    (old / "config.json").write_text((tmp_path / "whole" / "config.json").read_text())
    torch.save(model.state_dict(), old / "pytorch_model.bin")
    for folder in (sharded, old):
        found = load_model(folder).network.state_dict()
        assert found.keys() == whole.keys()
        assert all(torch.equal(found[name], whole[name]) for name in whole)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "qwen2"])
def test_attention_weights_and_layers_agree(kind: str, tmp_path: Path):
    model = theirs(kind)
    ours = load_model(saved(model, tmp_path / "there"))
    model.set_attn_implementation("eager")
    ids = batch()[0][:1]
    with torch.no_grad():
        one = model(ids, output_attentions=True, output_hidden_states=True)
        two = ours.network(ids, layers=True, attention=[0, 2])
    assert (one.attentions[2] - two.attention[2]).abs().max() < 1e-5
    for their, our in zip(one.hidden_states, two.layers, strict=True):
        assert (their - our).abs().max() < 2e-5


@torch.no_grad()
def test_positions_without_padding_agree(tmp_path: Path):
    """RoBERTa counts positions by the ids, whether or not padding is masked."""
    model = theirs("roberta")
    ours = load_model(saved(model, tmp_path / "there"))
    ids, mask = batch(1)
    assert (model(ids).logits - ours.network(ids).logits).abs().max() < 2e-5
    left = ids.flip(1)
    there = model(left, attention_mask=mask.flip(1)).logits
    here = ours.network(left, mask.flip(1)).logits
    real = mask.flip(1).bool()
    assert (there[real] - here[real]).abs().max() < 2e-5
    assert ours.config.max_length == 18  # of 20 rows, two come before the first position
    longest = torch.full((1, 18), 9)
    assert (model(longest).logits - ours.network(longest).logits).abs().max() < 2e-5
    with pytest.raises(SettingError, match="at position 19, the last one is 18"):
        ours.network(torch.full((1, 19), 9))


@pytest.mark.parametrize("kind", ["bert-bare", "roberta-bare"])
def test_poolers_agree(kind: str, tmp_path: Path):
    model = theirs(kind)
    ours = load_model(saved(model, tmp_path / "there"))
    ids, mask = batch(ours.config.special.padding or PAD)
    with torch.no_grad():
        assert (
            model(ids, attention_mask=mask).pooler_output - ours.network(ids, mask).pooled
        ).abs().max() < 1e-5


@pytest.mark.parametrize("kind", ["gpt2", "llama", "qwen2", "t5", "marian"])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("early", [True, False])
def test_beams_agree(kind: str, length_penalty: float, early: bool, tmp_path: Path):
    model = theirs(kind)
    ours = load_model(saved(model, tmp_path / "there"))
    ids, mask = batch()
    if ours.config.kind == "decoder":
        # padding on the left
        ids = ids.flip(1)
        mask = mask.flip(1)
    expected = model.generate(
        ids,
        attention_mask=mask,
        num_beams=4,
        max_new_tokens=12,
        length_penalty=length_penalty,
        early_stopping=early,
        do_sample=False,
        forced_eos_token_id=None,
    )
    settings = GenerationSettings(
        method="beam",
        beams=4,
        max_new_tokens=12,
        length_penalty=length_penalty,
        early_stopping=early,
        forced_last=(),
    )
    found = generate(ours, ids, mask, settings)
    shown = expected[:, ids.shape[1] :] if ours.config.kind == "decoder" else expected[:, 1:]
    assert [cut(row) for row in shown.tolist()] == found
    assert found == generate(ours, ids, mask, replace(settings, use_cache=False))
    assert (
        length_penalty or min(len(row) for row in found) < 12
    )  # without a reward for length, some end early


@pytest.mark.parametrize(
    "kind",
    [
        "gpt2",
        "llama",
        "qwen2-yarn",
        "t5",
        "marian",
        *(f"llama-{kind}" for kind in ROPE),
        "t5-sides",
        "marian-three",
    ],
)
@pytest.mark.parametrize("penalty", [1.0, 1.7])
def test_greedy_agrees(kind: str, penalty: float, tmp_path: Path):
    model = theirs(kind)
    ours = load_model(saved(model, tmp_path / "there"))
    ids, mask = batch()
    if ours.config.kind == "decoder":
        ids = ids.flip(1)
        mask = mask.flip(1)
    expected = model.generate(
        ids,
        attention_mask=mask,
        max_new_tokens=12,
        do_sample=False,
        repetition_penalty=penalty,
        forced_eos_token_id=None,
    )
    settings = GenerationSettings(
        method="greedy", max_new_tokens=12, repetition_penalty=penalty, forced_last=()
    )
    found = generate(ours, ids, mask, settings)
    shown = expected[:, ids.shape[1] :] if ours.config.kind == "decoder" else expected[:, 1:]
    assert [cut(row) for row in shown.tolist()] == found
    assert found == generate(ours, ids, mask, replace(settings, use_cache=False))


@pytest.mark.parametrize("kind", [f"llama-{kind}" for kind in ROPE])
def test_frequencies_are_theirs_to_the_bit(kind: str, tmp_path: Path):
    model = theirs(kind)
    positions = load_model(saved(model, tmp_path / "there")).network.stack.positions  # pyright: ignore
    assert torch.equal(positions.frequencies, model.model.rotary_emb.inv_freq)
    assert positions.attention_factor == model.model.rotary_emb.attention_scaling
    usual = 500.0 ** -(torch.arange(0, 8, 2) / 8)
    shares = (positions.frequencies / usual).tolist()
    if kind != "llama-linear":  # kept, between, slowed
        factor = model.config.rope_parameters["factor"]
        assert shares[0] == 1
        assert 1 / factor < shares[1] < 1
        assert shares[3] == pytest.approx(1 / factor)


@pytest.mark.parametrize("kind", [f"llama-{kind}" for kind in ROPE])
@torch.no_grad()
def test_a_cache_changes_nothing(kind: str, tmp_path: Path):
    network = load_model(saved(theirs(kind), tmp_path / "there"), dtype=torch.float64).network
    # pyright: ignore
    ids = batch()[0][:1]
    cache = network.new_cache()
    whole = network(ids).logits
    steps = [network(ids[:, place : place + 1], cache=cache).logits for place in range(ids.shape[1])]
    assert (torch.cat(steps, 1) - whole).abs().max() < 1e-12


def test_banned_words_are_never_generated(tmp_path: Path):
    model = theirs("marian")
    model.final_logits_bias[0, 5] = 30.0  # or else it would be every word
    ours = load_model(saved(model, tmp_path / "there"))
    ids, mask = batch()
    settings = GenerationSettings(max_new_tokens=4, forced_last=())
    assert {id for row in generate(ours, ids, mask, settings) for id in row} == {5}
    ours = Model(ours.network)  # without the settings of the file
    ours.network.config = ours.config.replace({"special.banned": (5,)})
    for method in ("greedy", "beam"):
        settings = GenerationSettings(method=method, max_new_tokens=8, beams=3)
        beams = {"num_beams": 3} if method == "beam" else {}
        expected = model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=8,
            do_sample=False,
            bad_words_ids=[[5]],
            forced_eos_token_id=None,
            **beams,
        )
        assert [cut(row[1:]) for row in expected.tolist()] == generate(ours, ids, mask, settings)
    save_model(ours, tmp_path / "here")
    assert load_model(tmp_path / "here").config.special.banned == (5,)


def cut(row: list[int]) -> list[int]:
    """Up to and with the first end; what follows is padding."""
    return row[: min((row.index(end) for end in ENDS if end in row), default=len(row)) + 1]


def test_conflicting_ties_are_named(tmp_path: Path):
    from safetensors.torch import load_file, save_file

    folder = saved(theirs("gpt2"), tmp_path / "there")
    tensors = load_file(folder / "model.safetensors")
    save_file(
        {**tensors, "lm_head.weight": tensors["transformer.wte.weight"].clone()},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    assert load_model(folder).config.head.tied  # says tied, and is
    save_file(
        {**tensors, "lm_head.weight": tensors["transformer.wte.weight"] + 1},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    with pytest.raises(
        FormatError,
        match=r"tie_word_embeddings: true, but lm_head.weight differs from transformer.wte.weight",
    ):
        load_model(folder)
    assert load_model(folder, tied=True).config.head.tied
    assert not load_model(folder, tied=False).config.head.tied
    llama = saved(theirs("llama"), tmp_path / "llama")
    tensors = load_file(llama / "model.safetensors")
    del tensors["lm_head.weight"]
    save_file(tensors, llama / "model.safetensors", {"format": "pt"})
    with pytest.raises(FormatError, match=r"tie_word_embeddings: false\), but there is no lm_head.weight"):
        load_model(llama)
    assert load_model(llama, tied=True).config.head.tied
