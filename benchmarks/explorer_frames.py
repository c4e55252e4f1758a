"""How long is the script of a frame while a map is dragged? The explorer beside TensorBoard's projector.

    python benchmarks/explorer_frames.py [words of our maps: 10000 100000 1000000]

Every callback of requestAnimationFrame is timed in both pages, in the same browser (Chromium without a GPU:
drawing itself is slow in both; only script counts). The projector is TensorBoard's page with 10,000 points,
the most it takes; it is left out where `tensorboard` is not installed. TENSORBOARD names its program.
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
        yield f"{address}#projector"
        server.terminate()


def dragged(browser: Any, address: str, wait: float, ready: str = "") -> dict[str, float]:
    """Milliseconds of script in a frame, while the pointer drags and the wheel turns."""
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.add_init_script(TIMED)
    page.goto(address)
    if ready:
        page.wait_for_selector(ready, timeout=300_000)
    time.sleep(wait)
    page.evaluate("window.times.length = 0")
    page.mouse.move(500, 400)
    page.mouse.down()
    for step in range(60):
        page.mouse.move(500 + 3 * step, 400 + step)
    page.mouse.up()
    for step in range(30):
        page.mouse.wheel(0, -60 if step % 10 < 7 else 100)
        page.wait_for_timeout(16)
    found = page.evaluate("window.times")
    page.close()
    if not found:
        return {}
    return {
        "frames": len(found),
        "median_ms": round(statistics.median(found), 2),
        "p95_ms": round(sorted(found)[int(0.95 * (len(found) - 1))], 2),
    }


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
