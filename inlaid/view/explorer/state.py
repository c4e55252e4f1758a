"""State: what one explorer shows, and the work it does in the background for its maps and its search."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError, UnknownName
from inlaid.messages import Language, word
from inlaid.study.compare.compare import common_words
from inlaid.study.explain.evidence import ExplainSettings
from inlaid.study.explain.explain import explain
from inlaid.vectors import Vectors
from inlaid.version import VERSION
from inlaid.view.explorer import colors
from inlaid.view.explorer.columns import columns
from inlaid.view.explorer.completion import Completion
from inlaid.view.explorer.layouts import METHODS, Layout, Layouts, rotated_onto
from inlaid.view.spaces import Space, Spaces

MOST = 1_000_000
"""Words on a map."""
NEIGHBORHOODS = 10_000
"""Words that t-SNE and UMAP lay out: some take a minute, and all of a large file hours."""


@dataclass(frozen=True)
class Shown:
    """How much is shown, and what stands beside the spaces."""

    most: int = MOST
    neighborhoods: int = NEIGHBORHOODS
    corpora: Mapping[str, Corpus] = field(default_factory=dict[str, Corpus])
    """Space -> the corpus it was trained on."""
    corpus_paths: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Space -> where its corpus is."""
    text: Sequence[Path] = ()
    """The files that the corpora were encoded from, to show sentences as they were written."""
    translations: Mapping[str, Sequence[tuple[int, int]]] = field(
        default_factory=dict[str, Sequence[tuple[int, int]]]
    )
    """Space -> pairs of words that translate each other."""
    tour: Mapping[str, Any] | None = None


class Explorer:
    """The maps, the completion and the colors of some spaces.

    >>> explorer = Explorer(Spaces.of({"en": vectors}))
    >>> explorer.layout("en", "pca")
    """

    def __init__(self, spaces: Spaces, shown: Shown | None = None) -> None:
        self.spaces = spaces
        self.shown = shown or Shown()
        self.of_vectors: dict[str, Vectors] = {}
        self.layouts: dict[str, Layouts] = {}
        for each in spaces:
            if each.vectors is not None:
                self._add(each.name, each.vectors)
        self._completions: dict[str, Completion] = {}
        self._colors: dict[tuple[Any, ...], bytes] = {}
        self._work: queue.Queue[Callable[[], object] | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def _add(self, name: str, vectors: Vectors) -> None:
        self.of_vectors[name] = vectors
        self.layouts[name] = Layouts(vectors, most=self.shown.most, neighborhoods=self.shown.neighborhoods)

    # --- work in the background

    def start(self) -> None:
        """Begin with what the page asks for first: PCA of every space, then search, then t-SNE."""
        self._thread = threading.Thread(target=self._run, name="inlaid-explorer", daemon=True)
        for name, layouts in self.layouts.items():
            self._work.put(lambda layouts=layouts: layouts.make("pca"))
            self._work.put(lambda name=name: self.completion(name))
        for layouts in self.layouts.values():
            self._work.put(lambda layouts=layouts: layouts.make("tsne"))
        self._thread.start()

    def stop(self) -> None:
        """End what works in the background, at its next step."""
        for layouts in self.layouts.values():
            layouts.stopped.set()
        self._work.put(None)
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            if not any(layouts.stopped.is_set() for layouts in self.layouts.values()):
                work()

    # --- what the page asks for

    def beginning(self) -> dict[str, Any]:
        """What the page needs to know first."""
        return {
            "version": VERSION,
            "spaces": [self._summary(each) for each in self.spaces],
            "text": [str(each) for each in self.shown.text],
            "tour": self.shown.tour,
        }

    def _summary(self, space: Space) -> dict[str, Any]:
        vectors = space.vectors
        summary = space.summary()
        summary["path"] = space.name if space.path is None else str(space.path)
        summary["points"] = 0 if vectors is None else min(self.shown.most, len(vectors))
        summary["counts"] = vectors is not None and vectors.counts is not None
        summary["why"] = space.name in self.shown.corpora
        summary["corpus"] = str(self.shown.corpus_paths.get(space.name, ""))
        summary["translations"] = space.name in self.shown.translations
        if space.model is not None:
            summary["causal"] = space.model.config.kind == "decoder"
        return summary

    def vectors(self, space: str) -> Vectors:
        found = self.spaces.find(space).vectors
        if found is None or space not in self.of_vectors:
            raise UnknownName("'{name}' has no map: it is a model.", name=space[:100])
        return found

    def model(self, space: str) -> Any:
        found = self.spaces.find(space).model
        if found is None:
            raise UnknownName("'{name}' has vectors; this needs a model.", name=space[:100])
        return found

    def words(self, space: str) -> bytes:
        """The words of a map, as UTF-8 and where each ends."""
        vectors = self.vectors(space)
        count = self.layouts[space].most
        encoded = [vectors.words.bytes_of(id) for id in range(count)]
        ends = np.cumsum([len(each) for each in encoded], dtype=np.uint32)
        pairs = np.array(self.shown.translations.get(space, ()), np.uint32).reshape(-1)
        text = np.frombuffer(b"".join(encoded), np.uint8)
        return columns({"ends": ends, "bytes": text, "pairs": pairs}, space=space)

    def layout(self, space: str, method: str) -> Layout:
        """A layout; PCA is made at once, the others when their turn comes."""
        self.vectors(space)
        if method not in METHODS:
            raise UnknownName("There is no layout '{name}'.", name=method[:100])
        layouts = self.layouts[space]
        layout = layouts.by_method[method]
        if layout.state == "waiting":
            if self._thread is None or method == "pca":
                with self._lock:
                    layouts.make(method)
            else:
                self._work.put(lambda: layouts.make(method))
        return layout

    def places(self, space: str, method: str, onto: str | None = None) -> bytes:
        """The places of a layout; turned so that the words that another space has, too, lie near their
        places there."""
        places = self._ready(space, method)
        header = {"space": space, "method": method, "count": len(places)}
        if onto is None:
            return columns({"places": places.reshape(-1)}, **header)
        target = self._ready(onto, method)
        ids = self.common(space, onto, (len(places), len(target)))
        turned = rotated_onto(places, target, ids)
        pairs = {"first": ids[1].astype(np.uint32), "second": ids[0].astype(np.uint32)}
        return columns({"places": turned.reshape(-1), **pairs}, **header, onto=onto)

    def _ready(self, space: str, method: str) -> np.ndarray:
        layout = self.layout(space, method)
        if layout.places is None:
            raise SettingError(
                "This map is not ready yet: {state}.", state=layout.problem or word(layout.state)
            )
        return layout.places

    def common(self, one: str, other: str, among: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """The ids of the words that both spaces have on their maps, in each."""
        first = self.vectors(one)
        second = self.vectors(other)
        words = common_words([first, second])
        ids = np.array([[first.words.find(word), second.words.find(word)] for word in words], np.int64)
        ids = ids.reshape(-1, 2)
        ids = ids[(ids[:, 0] < among[0]) & (ids[:, 1] < among[1])]
        return ids[:, 0], ids[:, 1]

    def color(self, space: str, by: str, start: Sequence[str] = (), end: Sequence[str] = ()) -> bytes:
        """A value for each word of a map; computed once, axes apart."""
        vectors = self.vectors(space)
        count = self.layouts[space].most
        if by == "axis":
            if not start or not end:
                raise SettingError("An axis leads from some words to others: name at least one on each side.")
            return colors.axis_column(vectors, count, start, end)
        if by.startswith("trust-"):
            return self._trust(space, by.removeprefix("trust-"))
        made = {
            "cluster": lambda: colors.cluster_column(vectors, count),
            "count": lambda: colors.count_column(vectors, count),
            "script": lambda: colors.script_column(vectors, count),
        }
        if by not in made:
            raise UnknownName("Points cannot be colored by '{name}'.", name=by[:100])
        if (space, by) not in self._colors:
            self._colors[space, by] = made[by]()
        return self._colors[space, by]

    def _trust(self, space: str, method: str) -> bytes:
        trust = self.layout(space, method).trust
        if trust is None:
            raise SettingError("How far to trust this map is not known yet.")
        return colors.trust_column(trust)

    def completion(self, space: str) -> Completion:
        found = self._completions.get(space)
        if found is None:
            vectors = self.vectors(space)
            found = Completion(list(vectors.words[: self.layouts[space].most]))
            self._completions[space] = found
        return found

    def complete(self, space: str, typed: str) -> dict[str, Any]:
        """Words that begin as typed."""
        completion = self.completion(space)
        found = [
            {"id": each.id, "word": each.word, "why": each.why} for each in completion.suggestions(typed)
        ]
        return {"suggestions": found, "pinyin": completion.knows_pinyin}

    def why(self, space: str, first: str, second: str, language: Language) -> dict[str, Any]:
        """What brings two words together: dimensions or n-grams, and where there is a corpus the contexts
        and the sentences."""
        corpus = self.shown.corpora.get(space)
        text = self.shown.text if corpus is not None else ()
        settings = ExplainSettings() if corpus is not None else None
        found = explain(self.vectors(space), first, second, settings, corpus=corpus, text=text)
        made = found.to_dict()
        made["notes"] = [note.in_language(language) for note in found.notes]
        return made
