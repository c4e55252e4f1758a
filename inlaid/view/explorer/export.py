"""Export: the explorer as one file that works without a network, with the answers to what it can be asked."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np

from inlaid.errors import InlaidError
from inlaid.places import HTML_MARK
from inlaid.report import Progress, Report, silent
from inlaid.study.search.neighbors import NeighborsSettings, neighbors
from inlaid.view.endpoints import endpoints
from inlaid.view.explorer.inside import attention_columns, tokens_of
from inlaid.view.explorer.layouts import METHODS
from inlaid.view.explorer.page import page_file
from inlaid.view.explorer.state import Explorer

NEIGHBORS = 20
"""Neighbors of each word that a file holds."""
CHANGED = 40
"""Words of a comparison whose neighbors a file holds."""
BLOCK = 512


class Record:
    """Requests of the page and their answers, under the keys that the page computes, too."""

    def __init__(self) -> None:
        self.json: dict[str, Any] = {}
        self.binary: dict[str, str] = {}
        self.neighbors: dict[str, Any] = {}

    def get(self, path: str, answer: Any, **query: str) -> None:
        key = f"GET {path}{_search(query)}"
        if isinstance(answer, bytes):
            self.binary[key] = _base64(answer)
        else:
            self.json[key] = answer

    def post(self, path: str, body: Mapping[str, Any], answer: Any) -> None:
        key = f"POST {path} {canonical(body)}"
        if isinstance(answer, bytes):
            self.binary[key] = _base64(answer)
        else:
            self.json[key] = answer

    def to_dict(self) -> dict[str, Any]:
        return {"json": self.json, "binary": self.binary, "neighbors": self.neighbors}


def canonical(value: Any) -> str:
    """JSON with sorted keys, as the page writes it."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _search(query: Mapping[str, str]) -> str:
    text = urlencode(sorted(query.items())).replace("%2A", "*").replace("~", "%7E")
    return f"?{text}" if text else ""


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def export(explorer: Explorer, sentences: Sequence[str] = (), report: Report = silent) -> str:
    """The page with maps, neighbors, comparisons and, for the sentences, what models make of them.

    Formulas, axes and other words need the vectors themselves: for these the page says how to start
    `inlaid explore`.
    """
    record = Record()
    beginning = explorer.beginning()
    for each in beginning["spaces"]:
        for field in ("path", "corpus"):
            each[field] = _name_of(each[field])
    beginning["text"] = [_name_of(each) for each in beginning["text"]]
    record.get("explorer/start", beginning)
    for space in explorer.of_vectors:
        _record_space(record, explorer, space, report)
    names = list(explorer.of_vectors)
    for first in names:
        for second in names:
            if first != second:
                _record_pair(record, explorer, first, second)
    for each in explorer.spaces:
        if each.model is not None:
            for text in (*sentences, *_toured(beginning, each.name)):
                _record_text(record, explorer, each.name, text)
    for step in (beginning["tour"] or {"steps": []})["steps"]:
        if step["view"].get("formula"):
            body = {"space": names[0], "formula": step["view"]["formula"], "n": 10}
            record.post("api/v1/analogy", body, _answered(explorer, "analogy", body))
    return _page(record)


def _name_of(path: str) -> str:
    """The last part of a path: a file that is sent to others says nothing of the folders it was made in."""
    return path.replace("\\", "/").rpartition("/")[2]


def _toured(beginning: Mapping[str, Any], model: str) -> list[str]:
    """The texts that the tour shows inside a model."""
    steps = (beginning["tour"] or {"steps": []})["steps"]
    return [each["view"]["text"] for each in steps if each["view"].get("model") == model]


def _record_space(record: Record, explorer: Explorer, space: str, report: Report) -> None:
    record.get("explorer/words", explorer.words(space), space=space)
    for number, method in enumerate(METHODS):
        report(Progress(f"map of {space}", number, len(METHODS), "layouts"))
        if method != "umap" or explorer.layouts[space].by_method["umap"].state == "ready":
            explorer.layouts[space].make(method)
        layout = explorer.layouts[space].by_method[method]
        if layout.places is not None:
            record.get("explorer/places", explorer.places(space, method), space=space, method=method)
            if layout.trust is not None:
                color = explorer.color(space, f"trust-{method}")
                record.get("explorer/colors", color, space=space, by=f"trust-{method}")
    record.get("explorer/layouts", {"layouts": explorer.layouts[space].statuses()}, space=space)
    for by in ("cluster", "count", "script"):
        try:
            record.get("explorer/colors", explorer.color(space, by), space=space, by=by)
        except InlaidError:  # too few words: the page shows them in one color
            continue
    record.neighbors[space] = _neighbors_of_all(explorer, space, report)


def _neighbors_of_all(explorer: Explorer, space: str, report: Report) -> dict[str, Any]:
    """The neighbors of the words of the map, among all words."""
    vectors = explorer.vectors(space)
    count = explorer.layouts[space].most
    words = list(vectors.words[:count])
    ids = {word: id for id, word in enumerate(words)}
    k = max(1, min(NEIGHBORS, len(vectors) - 1))
    found = np.full((count, k), -1, np.int32)
    cosines = np.zeros((count, k), np.float32)
    has_direction = np.asarray(vectors.lengths[:count]) > 0
    for start in range(0, count, BLOCK):
        report(Progress(f"neighbors in {space}", start, count, "words"))
        block = [id for id in range(start, min(start + BLOCK, count)) if has_direction[id]]
        rows = [vectors.rows([id])[0] for id in block]
        lists = neighbors(vectors, rows, NeighborsSettings(n=k + 1))
        for id, each in zip(block, lists, strict=True):
            others = [other for other in each if other.word != words[id]][:k]
            for place, other in enumerate(others):
                found[id, place] = ids.setdefault(other.word, len(ids))
                cosines[id, place] = other.score
    return {
        "words": list(ids),
        "k": k,
        "ids": _base64(found.astype("<i4").tobytes()),
        "cosines": _base64(cosines.astype("<f4").tobytes()),
    }


def _record_pair(record: Record, explorer: Explorer, first: str, second: str) -> None:
    """What the page shows of two spaces: both maps, what moved, and the neighbors of the words that did."""
    for method in METHODS:
        ready = all(explorer.layouts[each].by_method[method].places is not None for each in (first, second))
        if ready:
            places = explorer.places(second, method, onto=first)
            record.get("explorer/places", places, space=second, method=method, onto=first)
    body = {"first": first, "second": second, "moved": 40, "among": 20_000, "sample": 1000}
    try:
        answer = _answered(explorer, "compare", body)
    except InlaidError:  # no words in common; the page says that it has no answer
        return
    record.post("api/v1/compare", body, answer)
    for move in answer["result"]["moved"][:CHANGED]:
        asked = {"first": first, "second": second, "word": move["word"], "n": 10}
        record.post("api/v1/changes", asked, _answered(explorer, "changes", asked))


def _record_text(record: Record, explorer: Explorer, name: str, text: str) -> None:
    """What the page shows of a text inside a model."""
    model = explorer.model(name)
    uses = next(each for each in explorer.spaces if each.name == name).summary()["uses"]
    record.post("explorer/tokens", {"space": name, "text": text}, tokens_of(model, text))
    target = None
    if "translate" in uses:
        body = {"space": name, "texts": [text], "method": "greedy", "trace": True}
        answer = _answered(explorer, "translate", body)
        record.post("api/v1/translate", body, answer)
        made = answer["result"]["translations"][0]
        target = (made["ended"] and made["translation"]) or None
    for tokens in (False, True):
        weights = attention_columns(model, text, target=target, tokens=tokens)
        record.post(
            "explorer/attention", {"space": name, "text": text, "target": target, "tokens": tokens}, weights
        )
    if "translate" not in uses and ("fill" in uses or "next" in uses):
        body = {"space": name, "text": text, "n": 5}
        record.post("api/v1/lens", body, _answered(explorer, "lens", body))


def _answered(explorer: Explorer, analysis: str, body: Mapping[str, Any]) -> dict[str, Any]:
    answer = endpoints()[analysis].call(dict(body), explorer.spaces)
    return {"result": answer.result, "notes": [str(note) for note in answer.notes]}


def _page(record: Record) -> str:
    """The page with its script, its styles and the record in it. Only these may run: they are named by their
    hashes, and nothing can be loaded."""
    script = page_file("explorer.js").content.decode().replace("</script", "<\\/script")
    style = page_file("explorer.css").content.decode()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    data = json.dumps(record.to_dict(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    page = re.sub(
        r"\s*<(script|link)\b[^>]*(explorer\.js|explorer\.css)[^>]*>(</script>)?",
        "",
        page_file("index.html").content.decode(),
    )
    held = (
        f'<script type="application/json" id="inlaid-record">{data.replace("<", chr(92) + "u003c")}</script>'
    )
    head = f'{HTML_MARK.decode()}\n<meta http-equiv="Content-Security-Policy" content="{policy}">'
    page = page.replace("<head>", f"<head>\n{head}\n<style>{style}</style>")
    return page.replace("</body>", f'{held}\n<script type="module">{script}</script>\n</body>')


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
