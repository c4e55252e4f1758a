"""Which language of the embedded world a model or a space knows."""

from __future__ import annotations

import itertools
import re
from typing import Any

from inlaid.encode.chinese import HAN
from inlaid.messages import Language
from inlaid.neural.kinds import AnyModel
from inlaid.vectors import Vectors

LOOKED_AT = 50_000
SHARE = 0.1
"""A vocabulary with more Chinese words than this is a Chinese one: those of BERT for English have 3 %."""


def language_of_words(model: Vectors | AnyModel) -> Language:
    """zh if the vocabulary has many Chinese words or characters, otherwise en."""
    loaded: Any = model
    words = model.words if isinstance(model, Vectors) else loaded.tokenizer.get_vocab()
    listed = list(itertools.islice(words, LOOKED_AT))
    chinese = re.compile(f"[{HAN}]")
    found = sum(bool(chinese.search(word)) for word in listed)
    return "zh" if found > SHARE * len(listed) else "en"
