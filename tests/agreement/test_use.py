"""The commands that use models against `transformers` on the same folders, as a user types them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers: Any = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)
import tokenizers  # noqa: E402

from inlaid.cli import main  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"从前有一座山山上庙里老和尚在讲故事我喜欢吃苹果鱼"]
WORDS = list(dict.fromkeys(WORDS))
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)
    torch.manual_seed(3)


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: str | Path) -> Any:
        capsys.readouterr()
        assert main([str(word) for word in words] + ["--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def saved(model: Any, folder: Path, *, ends: bool = True) -> Any:
    """The folder of a model with a character tokenizer, as `transformers` writes it."""
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: id for id, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    if ends:
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    made.decoder = tokenizers.decoders.Fuse()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, mask_token="[MASK]", **SPECIAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.eval().save_pretrained(folder)
        fast.save_pretrained(folder)
    return fast


def test_fill(tmp_path: Path, typed: Any):
    model = transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=len(WORDS), **SIZE))
    tokenizer = saved(model, tmp_path)
    ids = tokenizer("我喜欢[MASK]苹[MASK]", return_tensors="pt")
    with torch.no_grad():
        expected = model(**ids).logits[0].softmax(-1)[ids["input_ids"][0] == 4]
    found = typed("fill", tmp_path, "我喜欢[MASK]苹___", "-n", "5")["masks"]
    assert len(found) == len(expected) == 2
    for mask, row in zip(found, expected, strict=True):
        best = row.topk(5)
        assert [each["id"] for each in mask] == best.indices.tolist()
        assert [each["probability"] for each in mask] == pytest.approx(best.values.tolist(), rel=1e-4)


def gpt2() -> Any:
    config = transformers.GPT2Config(
        vocab_size=len(WORDS), n_positions=64, n_embd=32, n_layer=3, n_head=2, eos_token_id=3, bos_token_id=2
    )
    return transformers.GPT2LMHeadModel(config)


def test_next_by_layer(tmp_path: Path, typed: Any):
    """Hidden states of each layer through their own final norm and output layer."""
    model = gpt2()
    tokenizer = saved(model, tmp_path, ends=False)
    ids = tokenizer("从前有一座", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        output = model(ids, output_hidden_states=True)
        inner = [model.lm_head(model.transformer.ln_f(each))[0, -1] for each in output.hidden_states[:-1]]
    expected = [*inner, output.logits[0, -1]]
    found = typed("next", tmp_path, "从前有一座", "-n", "4", "--layers")
    assert len(found["layers"]) == len(expected) == 4
    for layer, logits in zip(found["layers"], expected, strict=True):
        best = logits.softmax(-1).topk(4)
        assert [each["id"] for each in layer["tokens"]] == best.indices.tolist()
        assert [each["probability"] for each in layer["tokens"]] == pytest.approx(
            best.values.tolist(), rel=1e-4
        )


@pytest.mark.parametrize(
    ("flags", "there"),
    [
        ((), {}),
        (("--beams", "3"), {"num_beams": 3}),
        (("--repetition-penalty", "1.5"), {"repetition_penalty": 1.5}),
        (("--no-repeat-ngram-size", "2"), {"no_repeat_ngram_size": 2}),
    ],
)
def test_generate(tmp_path: Path, typed: Any, flags: tuple[str, ...], there: dict[str, Any]):
    """A tokenizer that ends every text does not end the prompt."""
    model = gpt2()
    tokenizer = saved(model, tmp_path)
    ids = tokenizer("从前有一座", return_tensors="pt")["input_ids"][:, :-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.generate(ids, max_new_tokens=20, do_sample=False, **there)[0, ids.shape[1] :]
    found = typed("generate", tmp_path, "从前有一座", "--max-new-tokens", "20", *flags)["texts"][0]
    assert found["tokens"] == [WORDS[id] for id in expected.tolist()]
    assert found["text"] == tokenizer.decode(expected, skip_special_tokens=True)


@pytest.mark.parametrize("beams", [1, 4])
def test_translate(tmp_path: Path, typed: Any, beams: int):
    config = transformers.T5Config(
        vocab_size=len(WORDS),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=2,
        num_heads=2,
        pad_token_id=0,
        eos_token_id=3,
        decoder_start_token_id=0,
    )
    model = transformers.T5ForConditionalGeneration(config)
    tokenizer = saved(model, tmp_path)
    texts = ["从前有一座山", "我喜欢吃苹果", "鱼", "山上有庙"]
    expected = list[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in texts:
            ids = tokenizer(text, return_tensors="pt")["input_ids"]
            made = model.generate(ids, max_new_tokens=12, num_beams=beams, do_sample=False)[0]
            expected.append(tokenizer.decode(made, skip_special_tokens=True))
    found = typed("translate", tmp_path, *texts, "--max-new-tokens", "12", "--beams", beams, "--batch", "2")
    assert [each["translation"] for each in found["translations"]] == expected
