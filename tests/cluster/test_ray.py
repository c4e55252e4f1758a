"""Ray itself: the command as it is typed, and a cluster that loses a node."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inlaid.collect import world
from inlaid.encode.corpus import Encoding, encode, open_corpus

pytest.importorskip("ray", reason="ray is not installed: pip install 'inlaid[cluster]'")
TWO_NODES = Path(__file__).with_name("two_nodes.py")
LISTENING = Path(__file__).with_name("listening.py")


def run(*command: str) -> subprocess.CompletedProcess:
    """In a process of its own, without the tests' type checks; all of Ray stays on 127.0.0.1."""
    environment = {**os.environ, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A file of three pieces."""
    path = tmp_path_factory.mktemp("text") / "world.txt"
    sentences = list(world.sentences("en", words=20_000, seed=5))
    line = "\n".join(sentences) + "\n"
    path.write_text(line * (10_000_000 // len(line)))
    return path


@pytest.fixture(scope="module")
def expected(text):
    return encode(text, Encoding())


def test_the_command_encodes_on_this_machine(text, expected, tmp_path):
    small = tmp_path / "small.txt"
    small.write_text("".join(text.read_text().splitlines(keepends=True)[:3000]))
    out = tmp_path / "text.corpus"
    ended = run("-m", "inlaid", "corpus", str(small), "-o", str(out), "--cluster", "local")
    assert ended.returncode == 0, ended.stderr
    assert "tokens" in ended.stdout
    alone = encode(small, Encoding())
    found = open_corpus(out)
    assert len(found.shards) == 1
    np.testing.assert_array_equal(np.asarray(found.ids), alone.ids)
    assert found.manifest == alone.manifest
    trained = run("-m", "inlaid", "train", "ppmi", str(out), "-o", str(tmp_path / "v.inlaid"), "--dim", "10")
    assert trained.returncode == 0, trained.stderr


def test_errors_of_tasks_are_sentences(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"good line\n" * 100 + b"\xff\xff\xff bad\n")
    ended = run("-m", "inlaid", "corpus", str(path), "-o", str(tmp_path / "c"), "--cluster", "local")
    assert ended.returncode == 2
    assert "bad.txt:101: byte 1 of the line is not UTF-8" in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:1"])
def test_a_cluster_that_is_not_there_is_an_error(address, text, tmp_path):
    command = ["-m", "inlaid", "corpus", str(text), "-o", str(tmp_path / "c"), "--cluster", address]
    ended = run(*command)
    assert ended.returncode == 2
    assert f"Cannot use the cluster '{address}'" in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


def test_a_node_that_dies_changes_nothing(text, expected, tmp_path):
    ended = run(str(TWO_NODES), str(text), str(tmp_path / "text.corpus"))
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found == {"hash": expected.manifest["hash"], "shards": 3, "nodes": [2, 1]}


def test_a_cluster_of_one_machine_listens_to_itself_alone():
    ended = run(str(LISTENING))
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert len(found) > 3
    assert {address for address, _ in found} == {"127.0.0.1"}
