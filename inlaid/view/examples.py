"""Examples: a request to each analysis that what is served can answer."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from inlaid.neural.kinds import uses_of

if TYPE_CHECKING:
    from inlaid.study.analysis import Input
    from inlaid.vectors import Vectors
    from inlaid.view.endpoints import Endpoint
    from inlaid.view.spaces import Space, Spaces

WORDS = ("king", "queen", "man", "woman", "apple")
"""Words of the examples; vectors without one of them have examples of their own words."""
SENTENCE = "the king eats an apple"
ABILITY = {"attribute": "fill", "lens": "fill", "ablate": "fill"}
"""What a model must be able to do for an analysis that is not called so."""
LOOKED_THROUGH = 10_000
"""Words of a vocabulary among which five are looked for."""


def bodies(king: str, queen: str, man: str, woman: str, apple: str) -> dict[str, dict[str, Any]]:
    """Name of an analysis -> a request."""
    pair = {"word": king, "other": queen}
    return {
        "neighbors": {"words": [king], "n": 3},
        "analogy": {"formula": f"{king} - {man} + {woman}", "n": 3},
        "vector": {"formula": f"{king} - {man}"},
        "similarity": {"words": [king, queen, apple]},
        "odd_one_out": {"words": [king, queen, man, apple]},
        "rank": pair,
        "closer_than": {**pair, "n": 3},
        "complete": {"typed": king[:2], "n": 3},
        "explain": {"first": king, "second": queen},
        "evaluate": {},
        "fill": {"text": f"the ___ eats an {apple}", "n": 3},
        "embed": {"texts": [SENTENCE]},
        "text_similarity": {"texts": [f"{king} {queen}", f"{man} {apple}"]},
        "next": {"text": "the king", "n": 3},
        "generate": {"texts": ["the king"], "max_new_tokens": 8},
        "translate": {"texts": [SENTENCE], "trace": True},
        "axis": {"from": [man], "to": [woman], "words": [king, apple]},
        "drift": {"word": "king", "sentences": [SENTENCE, "the king likes the queen"]},
        "lens": {"text": SENTENCE, "n": 3},
        "compare": {"words": [king], "n": 3},
        "changes": {"word": king, "n": 3},
        "stability": {"word": king, "n": 3},
        "attend": {"text": SENTENCE},
        "attend_step": {"text": SENTENCE, "word": "king"},
        "ablate": {"texts": [SENTENCE]},
        "attribute": {"text": "the ___ eats an apple"},
        "map": {"words": [king, queen, man, woman, apple], "method": "pca"},
        "map_texts": {"texts": [f"{king} {queen}", f"{man} {woman}", f"{apple} {king}"], "method": "pca"},
    }


def example(endpoint: Endpoint, spaces: Spaces | None = None) -> dict[str, Any]:
    """A request that one of these spaces answers, if any of them can."""
    chosen = {} if spaces is None else _names(endpoint, spaces)
    words = WORDS
    if spaces is not None:
        name = chosen.get("space") or chosen.get("first")
        vectors = spaces.find(name if isinstance(name, str) else None).vectors
        words = WORDS if vectors is None else _words(vectors)
    known = bodies(*words).get(endpoint.name, {})
    required = {name for name, each in endpoint.inputs.items() if each.required and name not in known}
    missing = {name: [words[0]] if endpoint.inputs[name].many else words[0] for name in required}
    return {**chosen, **known, **missing}


def _names(endpoint: Endpoint, spaces: Spaces) -> dict[str, Any]:
    """Names of spaces for the fields that need one; the first space needs none."""
    chosen = dict[str, Any]()
    for field, given in endpoint.spaces.items():
        fitting = [each for each in spaces if isinstance(each.value, given.accepts or (given.type,))]
        fitting.sort(key=lambda each: not _can(each, endpoint.name))
        if given.required and fitting and not (field == "space" and fitting[0] is spaces.find()):
            chosen[field] = _listed(given, fitting)
    return chosen


def _listed(given: Input, fitting: list[Space]) -> Any:
    """Runs are two at least; a single one is named twice."""
    return [(fitting * 2)[0].name, (fitting * 2)[1].name] if given.many else fitting[0].name


def _can(space: Space, name: str) -> bool:
    return space.vectors is not None or ABILITY.get(name, name) in uses_of(space.value)


def _words(vectors: Vectors) -> tuple[str, ...]:
    """The words of the examples, or five plain words of the vocabulary."""
    if all(word in vectors for word in WORDS):
        return WORDS
    plain = (word for word in itertools.islice(vectors.words, LOOKED_THROUGH) if word.isalpha())
    found = tuple(itertools.islice(plain, len(WORDS)))
    return found if len(found) == len(WORDS) else WORDS
