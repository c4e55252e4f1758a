"""Text to ids: exactly what the plain definition says, and back."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inlaid
from inlaid import cli
from inlaid.collect import sources, world
from inlaid.encode import processes
from inlaid.encode.corpus import Corpus, Encoding, encode, is_corpus, open_corpus
from inlaid.encode.subwords.tokenizer import Subwords
from inlaid.errors import FormatError, InlaidError, SettingError, SourceError, UnknownName, WriteError
from inlaid.kernels.text import hash_table


def decoded(corpus: Corpus) -> list[list[str]]:
    words = list(corpus.vocabulary.words)
    return [
        [words[id] for id in corpus.ids[a:b]]
        for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)
    ]


@given(
    st.lists(st.lists(st.sampled_from("abcdef猫狗"), max_size=8), min_size=1, max_size=12), st.integers(1, 3)
)
@settings(deadline=None)  # the first call compiles
def test_ids_are_the_tokens_that_are_frequent_enough(sentences: list[list[str]], min_count: int):
    counts = Counter(token for sentence in sentences for token in sentence)
    kept = [[token for token in sentence if counts[token] >= min_count] for sentence in sentences]
    kept = [sentence for sentence in kept if sentence]
    if not kept:
        with pytest.raises(SourceError):
            encode(sentences, Encoding(min_count=min_count))
        return
    corpus = encode(sentences, Encoding(min_count=min_count))
    assert decoded(corpus) == kept
    assert dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True)) == {
        word: count for word, count in counts.items() if count >= min_count
    }
    tokens = corpus.manifest["tokens"]
    assert tokens["read"] == sum(counts.values()) == tokens["used"] + sum(tokens["dropped"].values())


def test_normalization_and_both_languages():
    corpus = encode(["The cat. THE 猫 喜欢 the CAT!"], Encoding(min_count=1))
    assert decoded(corpus) == [["the", "cat", "the", "猫", "喜欢", "the", "cat"]]


def test_a_generator_is_read_like_a_list():
    sentences = ["the cat", "the dog"]
    assert decoded(encode((each for each in sentences), Encoding(min_count=1))) == decoded(
        encode(sentences, Encoding(min_count=1))
    )


def test_a_saved_corpus_comes_back(tmp_path: Path):
    corpus = encode(
        world.sentences("both", words=3000), Encoding(dictionary=world.dictionary(), force_dictionary=True)
    )
    corpus.save(tmp_path / "c")
    opened = open_corpus(tmp_path / "c")
    np.testing.assert_array_equal(opened.ids, corpus.ids)
    np.testing.assert_array_equal(opened.offsets, corpus.offsets)
    assert opened.vocabulary.words == corpus.vocabulary.words
    assert opened.manifest == corpus.manifest
    with pytest.raises(WriteError, match="already exists"):
        corpus.save(tmp_path / "c")


def test_the_same_text_gives_the_same_hash_and_other_text_another():
    hashes = [
        encode(text, Encoding(min_count=1)).manifest["hash"] for text in (["a b"], iter(["a b"]), ["a", "b"])
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_files_are_named_with_their_hashes(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes("\ufeffthe cat\r\nthe dog\n".encode())
    corpus = encode(tmp_path / "a.txt", Encoding(min_count=1))
    assert decoded(corpus) == [["the", "cat"], ["the", "dog"]]
    assert corpus.manifest["inputs"][0]["name"] == "a.txt"
    assert corpus.manifest["inputs"][0]["size"] == 20


def test_a_list_of_file_names_is_not_taken_for_text(tmp_path: Path):
    (tmp_path / "a.txt").write_text("the cat")
    with pytest.raises(SourceError, match="Pass Path objects"):
        encode([str(tmp_path / "a.txt")], Encoding(min_count=1))
    assert len(encode([tmp_path / "a.txt", tmp_path], Encoding(min_count=1)).ids) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([], "No words were found"),
        (["", "  "], "No words were found"),
        (["...", "，。"], "No words were found"),
        (["a b c"], "less than 5 times"),
    ],
)
def test_text_without_words_is_refused(text: list[str], message: str):
    with pytest.raises(SourceError, match=message):
        encode(text)


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"the cat\nthe \xff dog\n")
    with pytest.raises(SourceError, match=r"a.txt:2: byte 5 of the line is not UTF-8"):
        encode(tmp_path / "a.txt")


def test_wrong_settings_are_refused():
    with pytest.raises(UnknownName, match="No tokenizer is called 'wrod'. Did you mean 'word'?"):
        Encoding(tokenizer="wrod")
    with pytest.raises(UnknownName, match="Did you mean 'bpe'?"):
        Encoding(tokenizer="bpee")
    with pytest.raises(UnknownName, match="No normalizer"):
        Encoding(normalize=("upper",))
    with pytest.raises(SettingError, match="dictionary works with the word tokenizer only"):
        Encoding(tokenizer="char", dictionary=("a",))
    with pytest.raises(SettingError, match="min_count is 0"):
        Encoding(min_count=0)


def test_what_is_not_a_corpus_is_refused_with_a_command_that_overwrites_nothing(tmp_path: Path):
    (tmp_path / "zh.txt").write_text("我喜欢苹果\n", "utf-8")
    with pytest.raises(FormatError) as refused:
        open_corpus(tmp_path / "zh.txt")
    assert f"`inlaid corpus {tmp_path}/zh.txt -o {tmp_path}/zh.corpus`" in str(refused.value)
    (tmp_path / "zh.corpus").mkdir()
    for name in ("zh.txt", "zh.corpus"):
        with pytest.raises(FormatError, match=r"-o \S*/zh-2\.corpus`"):
            open_corpus(tmp_path / name)
    with pytest.raises(FormatError, match=r"There is no corpus \S*/none. Make one .* -o \S*/none`"):
        open_corpus(tmp_path / "none")


def test_explain_does_not_advise_to_overwrite_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = tmp_path / "zh.txt"
    text.write_text("\n".join(world.sentences("zh", words=2000)), "utf-8")
    inlaid.save(inlaid.train(text, "ppmi", dim=10), tmp_path / "v.inlaid")
    given = ["explain", str(tmp_path / "v.inlaid"), "的", "了", "--corpus", str(text)]
    assert cli.main(given) != 0
    printed = "".join(capsys.readouterr().err.split())
    assert f"-o{text}" not in printed
    assert f"`inlaidcorpus{text}-o{tmp_path}/zh.corpus`" in printed


# ---- Large text, many workers


@pytest.mark.parametrize("tokenizer", ["word", "whitespace", "char"])
def test_blocks_workers_and_processes_change_nothing(
    tokenizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "t.txt"
    path.write_text("\n".join(world.sentences("both", words=6000)), "utf-8")
    plain = encode(path.read_text("utf-8").splitlines(), Encoding(tokenizer=tokenizer), workers=1)
    monkeypatch.setattr(sources, "BLOCK", 5000)
    monkeypatch.setattr(processes, "SLOW_BLOCKS", 2)
    for workers in (1, 2, 3):
        for out in (None, tmp_path / f"{tokenizer}{workers}"):
            made = encode(path, Encoding(tokenizer=tokenizer), workers=workers, out=out)
            assert made.manifest["hash"] == plain.manifest["hash"]
            assert made.manifest["tokens"] == plain.manifest["tokens"]
            assert decoded(made) == decoded(plain)


def test_a_line_longer_than_may_be_held_stays_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    words = [f"w{number % 700}" for number in range(20_000)]
    (tmp_path / "t.txt").write_text(" ".join(words) + "\nend of it\n")
    monkeypatch.setattr(sources, "BLOCK", 1000)
    monkeypatch.setattr(sources, "LONGEST", 3000)
    corpus = encode(tmp_path / "t.txt", Encoding(min_count=1), workers=2)
    assert decoded(corpus) == [words, ["end", "of", "it"]]
    assert corpus.manifest["lint"]["cut_lines"] > 10
    assert corpus.manifest["lint"]["long_sentences"] == 1


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_a_line_of_a_hundred_megabytes_takes_little_memory(tmp_path: Path):
    path = tmp_path / "t.txt"
    with path.open("w") as file:
        for _ in range(100):
            file.write("all work and no play makes a dull line " * 26_000)
    code = f"""
from pathlib import Path
from inlaid.encode.corpus import Encoding, encode
def peak():  # not getrusage: its figure is inherited from the parent
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024
encode(["warm up"], Encoding(min_count=1))
before = peak()
corpus = encode(Path({str(path)!r}), Encoding(), workers=2, out=Path({str(tmp_path / "c")!r}))
assert len(corpus.ids) == 9 * 26_000 * 100
print(peak() - before)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert 0 < int(ended.stdout) < 500


def test_lint_counts_what_looks_odd(tmp_path: Path):
    (tmp_path / "t.txt").write_bytes(
        b"same line\nsame line\nnul \x00 here\nbad \xff here\n" + b"x" * 200 + b"\n"
    )
    lint = encode(tmp_path / "t.txt", Encoding(min_count=1, invalid="replace")).manifest["lint"]
    assert lint == {
        "invalid_bytes": 1,
        "nul_bytes": 1,
        "cut_lines": 0,
        "repeated_lines": 1,
        "long_words": 1,
        "long_sentences": 0,
    }


def test_half_a_surrogate_follows_the_policy():
    with pytest.raises(SourceError, match="not UTF-8"):
        encode(["ok \ud800 ok"], Encoding(min_count=1))
    assert decoded(encode(["ok \ud800 ok"], Encoding(min_count=1, invalid="skip"))) == [["ok", "ok"]]


# ---- Which words


def test_special_words_come_first_and_unknown_ones_get_theirs():
    sentences = ["the cat sat", "the cat ran", "the dog"]
    corpus = encode(sentences, Encoding(min_count=2, special=("[PAD]",), unknown="[UNK]"))
    assert list(corpus.vocabulary.words) == ["[PAD]", "[UNK]", "the", "cat"]
    assert decoded(corpus) == [["the", "cat", "[UNK]"], ["the", "cat", "[UNK]"], ["the", "[UNK]"]]
    assert corpus.vocabulary.counts.tolist() == [0, 3, 3, 2]
    assert corpus.manifest["tokens"] == {"read": 8, "used": 8, "dropped": {"rare": 0}}


def test_max_size_keeps_the_most_frequent_words_and_counts_the_others_apart():
    corpus = encode(["a a a b b c", "d d d d"], Encoding(min_count=2, max_size=2))
    assert list(corpus.vocabulary.words) == ["d", "a"]
    assert corpus.manifest["tokens"] == {
        "read": 10,
        "used": 7,
        "dropped": {"rare": 1, "beyond_max_size": 2},
    }
    unknown = encode(["a a a b b c", "d d d d"], Encoding(min_count=2, max_size=3, unknown="?"))
    assert unknown.manifest["tokens"] == {
        "read": 10,
        "used": 10,
        "dropped": {"rare": 0, "beyond_max_size": 0},
    }
    with pytest.raises(SettingError, match="2 special words leave no place"):
        encode(["a b"], Encoding(min_count=1, max_size=2, special=("x", "y")))


@given(
    st.lists(st.lists(st.sampled_from("abcdef猫狗"), max_size=8), min_size=1, max_size=12),
    st.integers(1, 3),
    st.integers(1, 5),
)
@settings(deadline=None)
def test_every_dropped_token_has_its_reason(sentences: list[list[str]], min_count: int, max_size: int):
    counts = Counter(token for sentence in sentences for token in sentence)
    frequent = [count for count in counts.values() if count >= min_count]
    if not frequent:
        return
    tokens = encode(sentences, Encoding(min_count=min_count, max_size=max_size)).manifest["tokens"]
    assert tokens["dropped"] == {
        "rare": sum(count for count in counts.values() if count < min_count),
        "beyond_max_size": sum(sorted(frequent, reverse=True)[max_size:]),
    }
    assert tokens["read"] == sum(counts.values()) == tokens["used"] + sum(tokens["dropped"].values())


def test_the_command_line_names_every_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "t.txt").write_text("a a a b b c\nd d d d\n")
    settings = ["--min-count", "2", "--max-size", "2"]
    assert cli.main(["corpus", str(tmp_path / "t.txt"), "-o", str(tmp_path / "c"), *settings]) == 0
    printed = capsys.readouterr().out
    assert "read 10 tokens = 7 used + 1 rare + 2 beyond max_size (30.00% outside the vocabulary)" in printed


def test_tokens_that_are_lost_are_noticed(monkeypatch: pytest.MonkeyPatch):
    """The account is counted in three places, so a mistake in one of them shows."""
    correct = hash_table.renumber

    def loses_one(ids, new, out, ends, before):
        progress = correct(ids, new, out, ends, before)
        return progress._replace(ids=max(progress.ids - 1, 0))

    monkeypatch.setattr(hash_table, "renumber", loses_one)
    with pytest.raises(InlaidError, match="3 were read, 2 used and 0 dropped"):
        encode(["a b c"], Encoding(min_count=1))


def test_mixed_sentences_and_tokens_are_refused():
    with pytest.raises(SourceError, match="sentence 2 is a string. Pass one kind or the other"):
        encode([["a", "b"], "c d"], Encoding(min_count=1))
    with pytest.raises(SourceError, match="sentence 2 is a list. Pass one kind or the other"):
        encode(["c d", ["a", "b"]], Encoding(min_count=1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([1, 2], "Sentence 1 is of type int, expected a string or a list of strings"),
        (["a", 2], "Sentence 2 is of type int, expected a string"),
        ([b"the cat"], "Sentence 1 is bytes, expected a string. Decode it first"),
        (["a", b"the cat"], "Sentence 2 is bytes"),
        ([["a"], b"the cat"], "Sentence 2 is bytes"),
        ([["a"], None], "Sentence 2 is of type NoneType"),
        ([[1, 2], [3]], "A token is 1 of type int, expected a string"),
        ([["a", 2]], "A token is 2 of type int, expected a string"),
        ([["a"], [["b"]]], r"A token is \['b'\] of type list, expected a string"),
        ([[b"a"]], "A token is b'a' of type bytes"),
        (b"the cat", "Expected text: .*; found bytes. To use one text itself"),
        (5, "Expected text: .*; found int"),
        (None, "Expected text: .*; found NoneType"),
    ],
    ids=repr,
)
def test_text_of_other_types_is_refused(text: object, message: str):
    """In a process of its own, as a user calls it: the types are not checked while the tests run."""
    code = f"import inlaid; inlaid.corpus({text!r}, min_count=1)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert re.search(f"^inlaid.errors.SourceError: .*{message}", ended.stderr, re.MULTILINE), ended.stderr


@pytest.mark.parametrize("text", [[b"the cat"], ["a", 2]])
def test_subwords_refuse_text_of_other_types(text: object):
    code = f"import inlaid; inlaid.corpus({text!r}, tokenizer='bpe')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert re.search("SourceError: .* is of type (bytes|int). Pass strings", ended.stderr), ended.stderr


def test_tokens_may_contain_spaces():
    assert decoded(encode([["New York", "is", "big"]], Encoding(min_count=1))) == [["New York", "is", "big"]]


def test_a_folder_that_exists_is_refused_before_the_text_is_read(tmp_path: Path):
    def sentences() -> Iterator[str]:
        pytest.fail("the text was read")
        yield ""

    with pytest.raises(WriteError, match="already exists"):
        encode(sentences(), Encoding(), out=tmp_path)
    with pytest.raises(WriteError, match="there is no folder"):
        encode(sentences(), Encoding(), out=tmp_path / "no" / "such")


# ---- Subwords


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_a_corpus_of_subwords_carries_its_tokenizer(kind: str, tmp_path: Path):
    text = [sentence for pair in world.pairs(words=20_000) for sentence in (pair.en, pair.zh)]
    made = encode(iter(text), Encoding(tokenizer=kind, subwords=2500), out=tmp_path / "c")
    assert made.tokenizer_json is not None
    tokenizer = Subwords.from_json(made.tokenizer_json)
    assert list(made.vocabulary.words) == tokenizer.vocabulary
    for number in (0, 1, 500):
        assert made.ids[made.offsets[number] : made.offsets[number + 1]].tolist() == tokenizer.ids(
            text[number]
        )
    assert made.vocabulary.counts.sum() == len(made.ids) == made.manifest["tokens"]["read"]
    assert "[MASK]" in made.vocabulary.words
    (tmp_path / "c" / "tokenizer.json").write_text("{}")
    with pytest.raises(FormatError, match="checksum differs"):
        open_corpus(tmp_path / "c")


def test_subwords_of_a_file_are_not_lower_cased(data: Path):
    corpus = encode(["Hello world"], Encoding(tokenizer_file=data / "vocab_gpt2"))
    assert corpus.ids.tolist() == [15496, 995]
    assert len(corpus.vocabulary) == 50257


def test_settings_that_do_not_go_with_subwords_are_refused():
    with pytest.raises(SettingError, match="max_size, special and unknown apply to words"):
        Encoding(tokenizer="bpe", max_size=10)
    with pytest.raises(SettingError, match="learns its vocabulary from text"):
        Encoding(tokenizer="bpe").make_tokenizer()
    with pytest.raises(SourceError, match="Pass strings"):
        encode([["a"]], Encoding(tokenizer="bpe"))


@pytest.mark.parametrize("workers", [0, -1])
def test_no_workers_are_refused(workers: int):
    with pytest.raises(SettingError, match=f"workers is {workers}; expected at least 1"):
        encode(["a b"], Encoding(min_count=1), workers=workers)


def test_what_is_odd_is_counted_for_subwords_too(tmp_path: Path):
    (tmp_path / "t.txt").write_bytes(
        "\n".join(world.sentences("en", words=3000)).encode() + b"\nbad \xff nul \x00\n"
    )
    made = encode(tmp_path / "t.txt", Encoding(tokenizer="bpe", subwords=400, invalid="replace"))
    assert (made.manifest["lint"]["invalid_bytes"], made.manifest["lint"]["nul_bytes"]) == (1, 1)


def test_subwords_cannot_be_learned_from_standard_input():
    with pytest.raises(SourceError, match="standard input can be read once"):
        encode(Path("-"), Encoding(tokenizer="bpe"))


# ---- Killed


def test_a_killed_run_leaves_nothing_that_looks_whole(tmp_path: Path):
    text = tmp_path / "t.txt"
    text.write_text("".join(f"{sentence}\n" for sentence in world.sentences("both", words=300_000)), "utf-8")
    command = [sys.executable, "-m", "inlaid.cli", "corpus", str(text), "-o", str(tmp_path / "c")]
    for wait in (0.3, 0.6, 0.8, 1.0, 1.3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if is_corpus(tmp_path / "c"):  # it was done in time: then it is whole
            assert len(open_corpus(tmp_path / "c").ids) > 250_000
            return
        assert not (tmp_path / "c").exists()


def test_a_tokenizer_that_is_not_utf8_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from inlaid.cli import main

    encode(["the cat sits on the mat"] * 5, Encoding(tokenizer="bpe", subwords=265), out=tmp_path / "c")
    (tmp_path / "c" / "tokenizer.json").write_bytes(b"\xff{}")
    assert main(["info", str(tmp_path / "c")]) == 2
    assert "is not the tokenizer this corpus was encoded with" in capsys.readouterr().err
