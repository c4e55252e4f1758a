"""Generation settings: a folder's generation_config.json means here what it means in `transformers`."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
transformers: Any = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'inlaid[peers]'"
)

from inlaid.errors import FormatError, SettingError  # noqa: E402
from inlaid.neural import generation, generation_keys  # noqa: E402
from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.neural.generate import GenerationSettings, generate  # noqa: E402

WORDS = 24
FILE = generation.FILE
SPECIAL = {"pad_token_id": 23, "eos_token_id": 0, "bos_token_id": 22}


def theirs(kind: str) -> Any:
    torch.manual_seed(2)
    if kind == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=WORDS, n_positions=64, n_embd=16, n_layer=2, n_head=2, **SPECIAL
        )
        model = transformers.GPT2LMHeadModel(config)
    elif kind == "marian":
        sizes = {"encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
        sizes |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
        config = transformers.MarianConfig(
            vocab_size=WORDS,
            d_model=16,
            encoder_layers=1,
            decoder_layers=2,
            max_position_embeddings=64,
            decoder_start_token_id=23,
            **sizes,
            **SPECIAL,
        )
        model = transformers.MarianMTModel(config)
    else:
        config = transformers.T5Config(
            vocab_size=WORDS, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, **SPECIAL
        )
        config.decoder_start_token_id = 23
        model = transformers.T5ForConditionalGeneration(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return model.double().eval()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind, without a generation_config.json."""
    found = {}
    for kind in ("gpt2", "t5", "marian"):
        found[kind] = tmp_path_factory.mktemp(kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs(kind).save_pretrained(found[kind])
        (found[kind] / FILE).unlink()
    return found


def with_file(folder: Path, settings: dict[str, Any] | None, target: Path) -> Path:
    target.mkdir()
    for path in folder.iterdir():
        (target / path.name).symlink_to(path)
    if settings is not None:
        (target / FILE).write_text(json.dumps(settings))
    return target


def both(folder: Path, rows: int = 5, seed: int = 0, given: GenerationSettings | None = None, **there: Any):
    """The new ids there and here, for random prompts of one length."""
    kinds = {"gpt2": "GPT2LMHeadModel", "t5": "T5ForConditionalGeneration", "marian": "MarianMTModel"}
    kind = json.loads((folder / "config.json").read_text())["model_type"]
    torch.manual_seed(seed)
    ids = torch.randint(1, 20, (rows, 4))
    file = json.loads((folder / FILE).read_text()) if (folder / FILE).is_file() else {}
    if kind == "gpt2" and "repetition_penalty" not in file:  # they count padding as a word that was used
        ids[0, :2] = 23  # the mask is inferred from the padding id
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(transformers, kinds[kind]).from_pretrained(folder, dtype=torch.float64)
        expected = model.generate(ids, **there)
    ours = load_model(folder)
    found = generate(ours, ids, None, given)
    start = 4 if kind == "gpt2" else 1
    assert ours.generation is not None
    ends = [*(ours.generation.settings.end or ()), 23]
    return [_cut(row[start:], ends) for row in expected.tolist()], [_cut(row, ends) for row in found]


def _cut(row: list[int], ends: list[int]) -> list[int]:
    """Without the end and the padding after it."""
    return row[: min((row.index(end) for end in ends if end in row), default=len(row))]


def random_file(seed: int, kind: str) -> dict[str, Any]:
    """A generation_config.json with some of the keys that are read."""
    draw = random.Random(f"{seed} {kind}")
    word = lambda: draw.randrange(1, 20)  # noqa: E731
    choices: dict[str, Any] = {
        "num_beams": draw.choice([1, 2, 3]),
        "length_penalty": draw.choice([0.0, 0.7, 2.0]),
        "early_stopping": draw.random() < 0.5,
        "repetition_penalty": 1.4,
        "no_repeat_ngram_size": draw.choice([1, 2, 3]),
        "bad_words_ids": [[word()], [word(), word()], [word(), word(), word()]],
        "suppress_tokens": [draw.randrange(10, 20), draw.randrange(10, 20), 999],
        "begin_suppress_tokens": [word(), word(), word(), 0],
        "forced_bos_token_id": draw.randrange(1, 10),
        "forced_eos_token_id": draw.choice([0, 7]),
        "min_length": draw.choice([3, 8]),
        "min_new_tokens": draw.choice([1, 5]),
        "temperature": 0.3,
        "use_cache": True,
        "transformers_version": "5.0.0",
    }
    file = {key: value for key, value in choices.items() if draw.random() < 0.45}
    file |= {"eos_token_id": draw.choice([0, [0, 3], [5, 6, 7]]), "pad_token_id": 23}
    file |= draw.choice([{"max_length": 13}, {"max_new_tokens": 9}])
    return file if kind == "gpt2" else {**file, "decoder_start_token_id": draw.choice([23, 22])}


@pytest.mark.parametrize("seed", range(14))
@pytest.mark.parametrize("kind", ["gpt2", "t5", "marian"])
def test_random_files_give_their_texts(kind: str, seed: int, folders: dict[str, Path], tmp_path: Path):
    folder = with_file(folders[kind], random_file(seed, kind), tmp_path / "model")
    expected, found = both(folder, seed=seed)
    assert found == expected


def test_keys_change_the_texts(folders: dict[str, Path], tmp_path: Path):
    """Each key alone changes a text: the test above would not notice a key that has no effect at all."""
    usual = {"eos_token_id": [0, 1], "pad_token_id": 23, "max_length": 13, "num_beams": 2}
    expected, plain = both(with_file(folders["gpt2"], usual, tmp_path / "usual"))
    assert plain == expected
    text = max(plain, key=len)
    changes = {
        "eos_token_id": text[3],
        "num_beams": 1,
        "length_penalty": -4.0,
        "max_length": 9,
        "no_repeat_ngram_size": 1,
        "bad_words_ids": [text[2:4]],
        "suppress_tokens": [text[2]],
        "begin_suppress_tokens": [text[0]],
        "forced_eos_token_id": 7,
        "repetition_penalty": 3.0,
    }
    for key, value in changes.items():
        folder = with_file(folders["gpt2"], {**usual, key: value}, tmp_path / key)
        expected, found = both(folder)
        assert found == expected
        assert found != plain, key


@pytest.mark.parametrize("kind", ["gpt2", "marian"])
def test_older_folders_have_them_in_their_config(kind: str, folders: dict[str, Path], tmp_path: Path):
    folder = with_file(folders[kind], None, tmp_path / "model")
    raw = json.loads((folder / "config.json").read_text())
    raw |= {"num_beams": 3, "bad_words_ids": [[4], [5, 6]], "max_length": 12, "length_penalty": 0.4}
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps(raw))
    expected, found = both(folder)
    assert found == expected
    save_model(load_model(folder), tmp_path / "again")
    assert both(tmp_path / "again") == (expected, expected)
    (note,) = load_model(folder).card.notes
    assert "generation, by config.json: " in note
    assert "num_beams 3" in note


def test_what_is_given_wins(folders: dict[str, Path], tmp_path: Path):
    file = {"eos_token_id": 0, "num_beams": 3, "max_length": 8, "suppress_tokens": [3, 4], "top_k": 3}
    folder = with_file(folders["gpt2"], file, tmp_path / "model")
    expected, found = both(folder, given=GenerationSettings(max_new_tokens=11), max_new_tokens=11)
    assert found == expected
    given = GenerationSettings(method="greedy", suppress=(), no_repeat_ngram_size=2)
    there = {"num_beams": 1, "suppress_tokens": [], "no_repeat_ngram_size": 2}
    expected, found = both(folder, given=given, **there)
    assert found == expected
    save_model(load_model(folder), tmp_path / "again")
    assert json.loads((tmp_path / "again" / FILE).read_text()) == file


def test_sampling_that_a_file_asks_for(folders: dict[str, Path], tmp_path: Path):
    """Its 50 likeliest words are theirs, and one word alone is no chance."""
    file = {"do_sample": True, "top_k": 1, "max_length": 10, "eos_token_id": 0}
    expected, found = both(with_file(folders["gpt2"], file, tmp_path / "one"))
    assert found == expected
    ours = load_model(with_file(folders["gpt2"], {"do_sample": True, "eos_token_id": 0}, tmp_path / "two"))
    assert ours.generation is not None
    rules = generation.resolve(GenerationSettings(), ours.generation, ours.config, 4)
    assert (rules.method, rules.top_k, rules.max_new_tokens) == ("sample", 50, 50)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ({"stop_strings": ["."]}, "stop_strings = \\['.'\\], which is not supported"),
        ({"do_sample": True, "typical_p": 0.5}, "typical_p = 0.5"),
        ({"do_sample": True, "num_beams": 2}, "num_beams = 2"),
        ({"num_beams": 2, "early_stopping": "never"}, "early_stopping = 'never'"),
        ({"forced_eos_token_id": 99}, "forced_last has id 99, outside the table of 24 rows"),
        ({"bad_words_ids": [[99]]}, "bad_words has id 99"),
        ({"forced_eos_token_id": 5, "suppress_tokens": [5]}, "forced_last is .5., and suppress has the same"),
        ({"max_length": 2}, "The prompt has 3 tokens, and generation_config.json of this model allows 2"),
    ],
)
def test_what_is_not_built_is_refused(
    file: dict[str, Any], said: str, folders: dict[str, Path], tmp_path: Path
):
    made = load_model(with_file(folders["gpt2"], file, tmp_path / "model"))
    with pytest.raises(SettingError, match=said):
        generate(made, torch.tensor([[3, 4, 5]]))


def test_unused_and_damaged_keys_are_named(folders: dict[str, Path], tmp_path: Path):
    file = {"typical_p": 0.5, "early_stopping": "never", "num_beams": 2, "moon_phase": 3, "eos_token_id": 0}
    made = load_model(with_file(folders["gpt2"], file, tmp_path / "model"))
    settings = GenerationSettings(method="beam", early_stopping=True, max_new_tokens=3)
    assert generate(made, torch.tensor([[3]]), None, settings)  # nothing is sampled, nothing stops "never"
    assert "not used: moon_phase of generation_config.json" in made.card.notes
    for number, damaged in enumerate([{"top_p": "much"}, {"bad_words_ids": 3}, {"eos_token_id": [0.5]}]):
        with pytest.raises(FormatError, match="generation_config.json: "):
            load_model(with_file(folders["gpt2"], damaged, tmp_path / str(number)))


def test_every_key_is_read_refused_or_without_effect():
    theirs = {key for key in vars(transformers.GenerationConfig()) if key != "_original_object_hash"}
    lists = [
        {*generation_keys.KEYS},
        {*generation_keys.ALSO_READ},
        {*generation_keys.SAMPLING},
        {*generation_keys.NEUTRAL},
        {*generation_keys.NO_EFFECT},
    ]
    assert theirs - set().union(*lists) == set()
    assert sum(map(len, lists)) == len(set().union(*lists))
