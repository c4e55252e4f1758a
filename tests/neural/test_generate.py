"""Generating: beam search finds what exhaustive search finds; cache and batch change nothing."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch

from inlaid.errors import SettingError
from inlaid.neural.config import make_config
from inlaid.neural.constraints import penalized
from inlaid.neural.decoding import DecodingState
from inlaid.neural.generate import GenerationSettings, generate, sample
from inlaid.neural.generation import Rules
from inlaid.neural.model import Model
from inlaid.neural.network import make_network

WORDS = 7
END = 1


def model(kind: str = "decoder", **rest: Any) -> Model:
    config = make_config(
        {
            "kind": kind,
            "vocab_size": WORDS,
            "dim": 8,
            "attention.heads": 2,
            "layers": 2,
            "decoder_layers": 2 if kind == "seq2seq" else 0,
            "positions.max_length": 16,
            "special.padding": 0,
            "special.start": 2,
            "special.end": (END,),
            **rest,
        }
    )
    network = make_network(config)
    for parameter in network.parameters():
        parameter.data.normal_(std=0.7)
    return Model(network.double().eval())


@torch.no_grad()
def likelihood(made: Model, prompt: list[int], text: tuple[int, ...]) -> float:
    logits = made.network(torch.tensor([[*prompt, *text[:-1]]])).logits[0].log_softmax(-1)  # pyright: ignore
    return sum(float(logits[len(prompt) - 1 + place, id]) for place, id in enumerate(text))


def ended(text: tuple[int, ...], length: int) -> bool:
    return END not in text[:-1] and (text[-1] == END or len(text) == length)


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_wide_beams_find_the_best_of_all_texts(length_penalty: float):
    made = model()
    prompt = [3, 4]
    texts = [
        text for size in (1, 2, 3) for text in itertools.product(range(WORDS), repeat=size) if ended(text, 3)
    ]
    scores = {text: likelihood(made, prompt, text) / len(text) ** length_penalty for text in texts}
    settings = GenerationSettings(method="beam", beams=60, max_new_tokens=3, length_penalty=length_penalty)
    assert tuple(generate(made, torch.tensor([prompt]), None, settings)[0]) == max(
        scores, key=scores.__getitem__
    )


def test_greedy_takes_the_likeliest_and_one_beam_does_the_same():
    made = model()
    ids = [3, 4]
    found = generate(made, torch.tensor([ids]), None, GenerationSettings(max_new_tokens=6))[0]
    for token in found:
        assert token == int(made.network(torch.tensor([ids])).logits[0, -1].argmax())  # pyright: ignore
        ids = [*ids, token]
    assert len(found) == 6 or found[-1] == END
    assert (
        generate(
            made, torch.tensor([[3, 4]]), None, GenerationSettings(method="beam", beams=1, max_new_tokens=6)
        )[0]
        == found
    )


@pytest.mark.parametrize("kind", ["decoder", "seq2seq"])
@pytest.mark.parametrize("positions", ["learned", "rotary", "alibi", "t5"])
@pytest.mark.parametrize("method", ["greedy", "sample", "beam"])
def test_cache_and_batch_change_nothing(kind: str, positions: str, method: Any):
    made = model(kind, **{"positions.kind": positions})
    settings = GenerationSettings(method=method, max_new_tokens=8, seed=3, repetition_penalty=1.3)
    ids = torch.tensor([[3, 4, 5, 6], [0, 0, 5, 2]])
    mask = torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])
    if kind == "seq2seq":
        ids = torch.tensor([[3, 4, 5, 6], [5, 2, 0, 0]])
        mask = mask.flip(1)
    found = generate(made, ids, mask, settings)
    assert found == generate(made, ids, mask, replace(settings, use_cache=False))
    assert found[0] == generate(made, ids[:1], None, settings)[0]
    if method != "sample":  # a row's draws belong to its place in the batch
        assert found[1] == generate(made, torch.tensor([[5, 2]]), None, settings)[0]


def test_sampling_draws_by_probability():
    scores = torch.tensor([[2.0, 1.0, 0.0, -1.0]]).expand(4000, -1)

    def shares(**settings: Any) -> torch.Tensor:
        draws = [torch.Generator().manual_seed(seed) for seed in range(4000)]
        return sample(scores, Rules(method="sample", **settings), draws).bincount(minlength=4) / 4000

    torch.testing.assert_close(shares(), scores[0].softmax(0), atol=0.03, rtol=0)
    torch.testing.assert_close(shares(temperature=0.5), (2 * scores[0]).softmax(0), atol=0.03, rtol=0)
    torch.testing.assert_close(shares(top_k=2)[:2], scores[0, :2].softmax(0), atol=0.03, rtol=0)
    assert shares(top_k=2)[2:].sum() == 0
    torch.testing.assert_close(
        shares(top_p=0.8)[:2], scores[0, :2].softmax(0), atol=0.03, rtol=0
    )  # .64 and .24 reach .8
    assert shares(top_p=0.8)[2:].sum() == 0
    assert shares(top_p=0.0)[0] == 1


def test_the_same_seed_draws_the_same_text():
    made = model()
    ids = torch.tensor([[3, 4]])
    settings = GenerationSettings(method="sample", max_new_tokens=10, seed=5)
    assert generate(made, ids, None, settings) == generate(made, ids, None, settings)
    assert len({tuple(generate(made, ids, None, replace(settings, seed=seed))[0]) for seed in range(8)}) > 1


def test_repetition_penalty_changes_only_used_words():
    scores = torch.tensor([[2.0, -2.0, 4.0]])
    used = torch.tensor([[True, True, False]])
    assert penalized(scores, used, 2.0).tolist() == [[1.0, -4.0, 4.0]]


@pytest.mark.parametrize(
    ("ids", "mask", "said"),
    [
        (torch.tensor([[3, 0]]), None, "row 0 ends in padding. Pad prompts on the left"),
        (torch.tensor([[3, 4], [3, 4]]), torch.tensor([[1, 1], [1, 0]]), "row 1 ends in padding"),
        (torch.zeros(0, 3, dtype=torch.int64), None, "0 texts"),
        (torch.tensor([[3, 99]]), None, "Id 99"),
        (
            torch.ones(1, 12, dtype=torch.int64) * 3,
            None,
            "prompt of 12 tokens and 8 new tokens exceed this model's maximum length of 16",
        ),
    ],
)
def test_bad_prompts_are_named(ids: torch.Tensor, mask: torch.Tensor | None, said: str):
    with pytest.raises(SettingError, match=said):
        generate(model(), ids, mask, GenerationSettings(max_new_tokens=8))


def test_what_cannot_generate_is_refused():
    with pytest.raises(SettingError, match=r"encoder .*cannot generate"):
        generate(model("encoder"), torch.tensor([[3]]))
    with pytest.raises(SettingError, match="temperature is 0"):
        GenerationSettings(temperature=0.0)


def test_padding_is_not_used():
    state = DecodingState(
        model().network,
        torch.tensor([[0, 0, 5, 2]]),
        torch.tensor([[0, 0, 1, 1]]),
        GenerationSettings(max_new_tokens=4, repetition_penalty=1.3),
        None,
    )
    assert state.used[0].nonzero().flatten().tolist() == [2, 5]
    state.append(torch.tensor([4]))
    assert state.used[0].nonzero().flatten().tolist() == [2, 4, 5]


@pytest.mark.parametrize("method", ["greedy", "sample", "beam"])
def test_each_token_costs_one_forward(method: Any):
    made = model(**{"special.end": ()})
    calls: list[int] = []
    made.network.stack.register_forward_hook(lambda *_: calls.append(1))  # pyright: ignore
    generate(made, torch.tensor([[3, 4]]), None, GenerationSettings(method=method, max_new_tokens=5))
    assert len(calls) == 5


def test_a_mask_that_was_given_is_believed():
    """A prompt may end in an end token that is also the padding token."""
    made = model(**{"special.padding": END})
    settings = GenerationSettings(max_new_tokens=5)
    ids = torch.tensor([[3, 4, END]])
    found = generate(made, ids, torch.ones_like(ids), settings)
    assert found == generate(made, ids, None, settings)
    other = model(**{"special.padding": 0})
    other.network.load_state_dict(made.network.state_dict())
    assert found == generate(other, ids, None, settings)


@pytest.mark.parametrize("kind", ["decoder", "seq2seq"])
def test_padding_is_masked_where_no_mask_was_given(kind: str):
    made = model(kind)
    ids = torch.tensor([[0, 0, 5, 4]]) if kind == "decoder" else torch.tensor([[5, 4, 0, 0]])
    settings = GenerationSettings(method="beam", max_new_tokens=5)
    assert generate(made, ids, None, settings) == generate(made, torch.tensor([[5, 4]]), None, settings)


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_an_end_token_outside_the_table_never_comes(method: str):
    """Config files name such ids, some larger than any integer of torch."""
    made = model(**{"special.end": (10**30,)})
    settings = GenerationSettings(method=method, max_new_tokens=5)
    assert len(generate(made, torch.tensor([[3, 4]]), None, settings)[0]) == 5
