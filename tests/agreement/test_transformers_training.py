"""Networks in training mode: dropout is applied where `transformers` applies it, at the same rates."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)

from inlaid.errors import SettingError  # noqa: E402
from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.neural.config import make_config  # noqa: E402

SIZE = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
SIDES = {f"{side}_{key}": 2 for side in ("encoder", "decoder") for key in ("layers", "attention_heads")}
NETWORKS: dict[str, Any] = {
    "bert": lambda: transformers.BertModel(
        transformers.BertConfig(
            **SIZE, intermediate_size=24, hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3
        )
    ),
    "roberta": lambda: transformers.RobertaModel(
        transformers.RobertaConfig(
            **SIZE, intermediate_size=24, hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3
        )
    ),
    "gpt2": lambda: transformers.GPT2Model(
        transformers.GPT2Config(
            vocab_size=20, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0.1, attn_pdrop=0.2, embd_pdrop=0.3
        )
    ),
    "llama": lambda: transformers.LlamaModel(
        transformers.LlamaConfig(**SIZE, intermediate_size=24, attention_dropout=0.3)
    ),
    "t5": lambda: transformers.T5Model(
        transformers.T5Config(
            vocab_size=20, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2, dropout_rate=0.2
        )
    ),
    "marian": lambda: transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=20,
            d_model=16,
            **SIDES,
            encoder_ffn_dim=24,
            decoder_ffn_dim=24,
            pad_token_id=19,
            decoder_start_token_id=19,
            eos_token_id=0,
            dropout=0.1,
            attention_dropout=0.2,
            activation_dropout=0.3,
            max_position_embeddings=16,
        )
    ),
}


def pattern(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In place of dropout: what it changes shows which tensor passed through it, and the rate."""
    if not training or p == 0.0:
        return x
    return x * (1 - p * (torch.arange(x.shape[-1]) % 3 == 0))


@pytest.mark.parametrize("name", NETWORKS)
@torch.no_grad()
def test_dropout_is_where_it_is_there(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    torch.manual_seed(1)
    theirs = NETWORKS[name]()
    for part, parameter in theirs.named_parameters():
        if "embed_positions" not in part:  # sinusoids
            parameter.normal_(std=0.5)
    theirs.save_pretrained(tmp_path / "theirs")
    theirs.set_attn_implementation("eager")
    save_model(load_model(tmp_path / "theirs"), tmp_path / "again")  # the rates survive
    ours: Any = load_model(tmp_path / "again").network
    ids = torch.tensor([[4, 5, 6, 7, 8]])
    asked = {"attention_mask": torch.ones_like(ids)}
    if name in ("t5", "marian"):
        asked["decoder_input_ids"] = ids
    found: list[Any] = []
    monkeypatch.setattr(torch.nn.functional, "dropout", pattern)
    for training in (False, True):
        expected = theirs.train(training)(ids, **asked, output_hidden_states=True)
        ours.train(training)
        if name in ("t5", "marian"):
            encoded = ours.encode(ids, attention=range(2))
            hidden = ours.decode(ids, encoded, attention=range(2)).hidden
            torch.testing.assert_close(
                encoded.output.hidden, expected.encoder_last_hidden_state, atol=1e-5, rtol=1e-4
            )
            wanted = expected.decoder_hidden_states[-1]
        else:
            hidden = ours(ids, attention=range(2)).hidden
            wanted = expected.last_hidden_state
        torch.testing.assert_close(hidden, wanted, atol=1e-5, rtol=1e-4)
        found.append(hidden)
    assert not torch.allclose(*found, atol=1e-3)


@torch.no_grad()
def test_the_fast_path_drops_as_many_weights(tmp_path: Any):
    """Attention dropout of the fast path is inside SDPA: over many draws, mean and spread are theirs."""
    torch.manual_seed(1)
    theirs = NETWORKS["llama"]()
    theirs.save_pretrained(tmp_path / "theirs")
    ours: Any = load_model(tmp_path / "theirs").network
    ids = torch.randint(3, 20, (1, 6)).expand(2000, 6)
    expected = theirs.train()(ids).last_hidden_state
    found = ours.train()(ids).hidden
    torch.testing.assert_close(found.std(0).mean(), expected.std(0).mean(), rtol=0.05, atol=0)
    torch.testing.assert_close(found.mean(0), expected.mean(0), rtol=0, atol=0.05)


@pytest.mark.parametrize("name", ["attention.dropout", "feed_forward.dropout", "final_dropout"])
def test_a_bilm_has_one_dropout(name: str):
    with pytest.raises(SettingError, match="biLM has one dropout"):
        make_config({"kind": "bilm", "vocab_size": 9, "dim": 8, name: 0.1})


@torch.no_grad()
def test_masks_with_holes_are_read_as_there(tmp_path: Any):
    torch.manual_seed(1)
    ids = torch.tensor([[4, 5, 6, 7, 8, 9]])
    mask = torch.tensor([[1, 1, 0, 1, 0, 1]])
    for name in ("bert", "roberta"):
        theirs = NETWORKS[name]().eval()
        theirs.save_pretrained(tmp_path / name)
        ours: Any = load_model(tmp_path / name).network
        expected = theirs(ids, attention_mask=mask).last_hidden_state
        torch.testing.assert_close(ours(ids, mask).hidden, expected, atol=1e-5, rtol=1e-5)
    with pytest.raises(SettingError, match="numbers other than 0 and 1"):
        ours(ids, mask * 2)
