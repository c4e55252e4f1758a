"""How long is the script of a frame while a map is dragged? The explorer beside TensorBoard's projector.

    python benchmarks/explorer_frames.py [words of our maps: 10000 100000 1000000]

Two figures, in the same browser (Chromium without a GPU: drawing itself is slow in both; only script counts):
every callback of requestAnimationFrame is timed, and so is all script together, for each move of the pointer
or the wheel. The projector draws where the pointer moves and has only the second. It is the page inside
TensorBoard, with 10,000 points, the most it takes; it is left out where `tensorboard` is not installed.
TENSORBOARD names its program.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from inlaid import storage
from inlaid.vectors import Vectors

DIM = 50
PEER_POINTS = 10_000
MOVES = 60
TURNS = 30
"""Of the pointer and of the wheel."""
TIMED = """
(() => {
  const times = [], raw = window.requestAnimationFrame.bind(window);
  window.times = times;
  window.requestAnimationFrame = call => raw(now => {
    const began = performance.now();
    call(now);
    times.push(performance.now() - began);
  });
})()
"""


def made(words: int) -> Vectors:
    random = np.random.default_rng(1)
    centers = random.normal(size=(40, DIM))
    table = centers[random.integers(40, size=words)] + 0.6 * random.normal(size=(words, DIM))
    return Vectors.of([f"word{number}" for number in range(words)], table.astype(np.float32))


@contextlib.contextmanager
def explorer(folder: Path, words: int) -> Iterator[str]:
    storage.save(made(words), folder / "v.inlaid")
    command = [sys.executable, "-m", "inlaid", "explore", "v.inlaid", "--port", "0", "--no-open"]
    command += ["--neighborhoods", "4", "--lang", "en"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield re.findall(r"http://[\d.:]+/", server.stdout.readline())[0] + "?lang=en#layout=pca"
        server.terminate()


@contextlib.contextmanager
def projector(folder: Path, program: str) -> Iterator[str]:
    vectors = made(PEER_POINTS)
    np.savetxt(folder / "tensors.tsv", vectors.table, delimiter="\t", fmt="%.4f")
    (folder / "metadata.tsv").write_text("\n".join(vectors.words))
    (folder / "projector_config.pbtxt").write_text(
        'embeddings { tensor_path: "tensors.tsv" metadata_path: "metadata.tsv" }'
    )
    command = [program, "--logdir", str(folder), "--port", "6016", "--load_fast=false"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        address = "http://localhost:6016/"
        for _ in range(120):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(address, timeout=5).read()
                break
            time.sleep(1)
        yield f"{address}data/plugin_entry.html?name=projector"
        server.terminate()


def dragged(browser: Any, address: str, wait: float, ready: str = "") -> dict[str, float]:
    """Milliseconds of script in a frame, while the pointer drags and the wheel turns."""
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.add_init_script(TIMED)
    page.goto(address)
    if ready:
        page.wait_for_selector(ready, timeout=300_000)
    time.sleep(wait)
    page.mouse.move(500, 400)
    page.mouse.down()
    page.wait_for_timeout(500)
    page.evaluate("window.times.length = 0")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    before = script_seconds(session)
    for step in range(MOVES):
        page.mouse.move(500 + 3 * step, 400 + step)
    page.mouse.up()
    for step in range(TURNS):
        page.mouse.wheel(0, -60 if step % 10 < 7 else 100)
        page.wait_for_timeout(16)
    found = page.evaluate("window.times")
    script = (script_seconds(session) - before) * 1000 / (MOVES + TURNS)
    page.close()
    timed = {"script_ms_a_move": round(script, 2)}
    if not found:
        return timed
    return timed | {
        "frames": len(found),
        "median_ms": round(statistics.median(found), 2),
        "p95_ms": round(sorted(found)[int(0.95 * (len(found) - 1))], 2),
    }


def script_seconds(session: Any) -> float:
    """All script that a page has run since it is watched."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(each["value"] for each in metrics if each["name"] == "ScriptDuration")


def main() -> None:
    sizes = [int(each) for each in sys.argv[1:]] or [10_000, 100_000, 1_000_000]
    program = os.environ.get("TENSORBOARD") or shutil.which("tensorboard")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--enable-unsafe-swiftshader"],
            chromium_sandbox=False,
        )
        for words in sizes:
            with tempfile.TemporaryDirectory() as folder, explorer(Path(folder), words) as address:
                timed = dragged(browser, address, 8, "[role=application]")
                print(json.dumps({"page": "inlaid explore", "points": words, **timed}), flush=True)
        if program is None:
            print("The projector is left out: tensorboard is not installed.")
            return
        with tempfile.TemporaryDirectory() as folder, projector(Path(folder), program) as address:
            timed = dragged(browser, address, 45)
            print(json.dumps({"page": "TensorBoard projector", "points": PEER_POINTS, **timed}), flush=True)


if __name__ == "__main__":
    main()
