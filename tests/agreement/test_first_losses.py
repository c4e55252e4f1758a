"""From one random folder, our first 50 losses are those of `transformers` on the same batches.

Two things are otherwise here, and are made equal. The row of padding gets no gradient through a tied output
layer, and stays 0. Marian's bias of the logits is learned, as in Marian itself; there it is fixed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)

from torch.nn import functional  # noqa: E402

from inlaid.collect import world  # noqa: E402
from inlaid.encode.corpus import Corpus, Encoding, encode  # noqa: E402
from inlaid.fit.causal import Causal  # noqa: E402
from inlaid.fit.masked import Masked  # noqa: E402
from inlaid.fit.networks.training import NetworkTraining  # noqa: E402
from inlaid.fit.translation import Translation  # noqa: E402
from inlaid.neural.checkpoint import load_model  # noqa: E402

STEPS = 50
ROLES = ("padding", "start", "end", "mask")
SETTINGS: dict[str, Any] = {
    "dim": 16,
    "layers": 2,
    "heads": 2,
    "feed_forward_dim": 32,
    "max_length": 24,
    "batch_tokens": 240,
    "epochs": 2,
    "learning_rate": 0.003,
    "weight_decay": 0.1,
    "held_out": 0.0,
}
METHODS = {"gpt2": Causal(**SETTINGS), "bert": Masked(**SETTINGS), "marian": Translation(**SETTINGS)}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Sentences that alternate, as those of pairs do."""
    return encode(list(world.sentences("en", words=6_000)), Encoding(min_count=1))


def special(words: int) -> dict[str, int]:
    """Special tokens after the words of the text."""
    return {role: words + number for number, role in enumerate(ROLES)}


def reference(name: str, words: int, ids: dict[str, int]) -> Any:
    shared = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    if name == "bert":
        config = transformers.BertConfig(
            vocab_size=words,
            **shared,
            max_position_embeddings=24,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=ids["padding"],
        )
        return transformers.BertForMaskedLM(config)
    if name == "gpt2":
        sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_inner": 32, "n_positions": 24}
        dropped = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
        return transformers.GPT2LMHeadModel(
            transformers.GPT2Config(
                vocab_size=words, **sizes, **dropped, bos_token_id=None, eos_token_id=None
            )
        )
    sides = ("encoder", "decoder")
    sizes = {f"{side}_{key}": value for side in sides for key, value in SIDE.items()}
    return transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=words,
            d_model=16,
            **sizes,
            max_position_embeddings=24,
            pad_token_id=ids["padding"],
            decoder_start_token_id=ids["padding"],
            eos_token_id=ids["end"],
            forced_eos_token_id=None,
            dropout=0.0,
            attention_dropout=0.0,
            activation_dropout=0.0,
            activation_function="relu",
            scale_embedding=True,
        )
    )


SIDE = {"layers": 2, "attention_heads": 2, "ffn_dim": 32}


def their_loss(name: str, network: Any, batch: Any) -> Any:
    if name == "gpt2":
        rows = torch.from_numpy(batch)
        return functional.cross_entropy(network(rows[:, :-1]).logits.flatten(0, 1), rows[:, 1:].flatten())
    if name == "bert":
        ids, real, targets = map(torch.from_numpy, batch)
        return network(ids, attention_mask=real.long(), labels=targets).loss
    source, source_real, target, target_real = map(torch.from_numpy, batch)
    start = target.new_full((len(target), 1), network.config.pad_token_id)
    logits = network(
        source,
        attention_mask=source_real.long(),
        decoder_input_ids=torch.cat([start, target[:, :-1]], 1),
    ).logits
    return functional.cross_entropy(logits[target_real], target[target_real], label_smoothing=0.1)


@pytest.mark.parametrize("name", METHODS)
def test_the_first_losses_are_theirs(name: str, tmp_path: Path, corpus: Corpus):
    torch.manual_seed(1)
    ids = special(len(corpus.vocabulary))
    theirs = reference(name, len(corpus.vocabulary) + len(ids), ids).train()
    theirs.save_pretrained(tmp_path)
    table = theirs.get_input_embeddings()
    if table.padding_idx is not None:
        no_padding = torch.ones(len(table.weight), 1)
        no_padding[table.padding_idx] = 0
        table.weight.register_hook(lambda gradient: gradient * no_padding)
    method: Any = METHODS[name]
    batches = method.batches(corpus, {role: ids[role] for role in method.roles})
    network: Any = load_model(tmp_path).network
    if name == "marian":
        network.head.bias.requires_grad_(False)
    ours = NetworkTraining(network, batches, method.loss(), method)
    matrices = [each for each in theirs.parameters() if each.dim() > 1 and each.requires_grad]
    others = [each for each in theirs.parameters() if each.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        betas=(0.9, method.beta2),
    )
    count = len(batches.ends(0))
    done = 0
    for number in range(STEPS):
        step = ours.step(done).read()
        done = step.done
        loss = their_loss(name, theirs, batches.batch(*divmod(number, count)))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), method.clip)
        for group in optimizer.param_groups:
            group["lr"] = method.learning_rate_at(number, method.epochs * count)
        optimizer.step()
        optimizer.zero_grad()
        assert step.loss / step.pairs == pytest.approx(float(loss.detach()), abs=1e-4), number
    assert step.loss / step.pairs < np.log(len(corpus.vocabulary)) - 0.2  # it learns meanwhile
