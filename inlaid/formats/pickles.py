"""Pickles: recognized and never opened; for those of gensim, the line of Python that exports what is in them.

A pickle is a program that runs when it is read. So nothing here unpickles: the name of the class is found
among the first bytes.
"""

from __future__ import annotations

import re
from pathlib import Path

from inlaid.errors import FormatError
from inlaid.formats.reading import Start

PICKLE = re.compile(rb"\x80[\x02-\x05](?:\x95.{8})?[^\x00]", re.DOTALL)
"""The first bytes of a pickle of protocol 2 to 5; those of protocol 0 and 1 begin like text."""
NUMPY = b"\x93NUMPY"
GENSIM = re.compile(rb"gensim\.models\.(\w+)(?:\n|(?:q.)?\x94?\x8c.)(\w+)", re.DOTALL)
"""A class of gensim as pickles name it: with a line end up to protocol 3, with a length from 4 on."""
EXPORTS = {
    "KeyedVectors": (
        "from gensim.models import KeyedVectors; "
        "KeyedVectors.load({source!r}).save_word2vec_format({target!r}, binary=True)"
    ),
    "FastTextKeyedVectors": (
        "from gensim.models.fasttext import FastTextKeyedVectors; "
        "FastTextKeyedVectors.load({source!r}).save_word2vec_format({target!r}, binary=True)"
    ),
    "Word2Vec": (
        "from gensim.models import Word2Vec; "
        "Word2Vec.load({source!r}).wv.save_word2vec_format({target!r}, binary=True)"
    ),
    "Doc2Vec": (
        "from gensim.models import Doc2Vec; "
        "Doc2Vec.load({source!r}).wv.save_word2vec_format({target!r}, binary=True)"
    ),
    "FastText": (
        "from gensim.models.fasttext import FastText, save_facebook_model; "
        "save_facebook_model(FastText.load({source!r}), {target!r})"
    ),
}
"""Class of gensim -> the program that writes its vectors to a file that others read."""


def refuse_pickle(start: Start) -> None:
    """Raise FormatError for a pickle, or for an array that gensim saved beside one."""
    if start.head.startswith(NUMPY):
        _refuse_array(start.path)
    if not PICKLE.match(start.head):
        return
    found = GENSIM.search(start.head[:1000])
    if found is None:
        raise FormatError(
            "{path} is a Python pickle, which can run any program when it is read: Inlaid never reads one. "
            "Write what is in it to another file with the program that made it: vectors as .npz, with words "
            "and table, or text as text.",
            path=start.path,
        )
    name = found[2].decode("ascii")
    if name not in EXPORTS:
        raise FormatError(
            "{path} is a pickle of gensim's class {name}, which has no word vectors, and pickles can run any "
            "program: Inlaid never reads one.",
            path=start.path,
            name=name,
        )
    target = free_binary_file(start.path)
    raise FormatError(
        "{path} is a pickle of gensim's class {name}, and pickles can run any program: Inlaid never reads "
        "one. Where gensim is installed, export it with `{program}`, then read {target}.",
        path=start.path,
        name=name,
        program=EXPORTS[name].format(source=str(start.path), target=str(target)),
        target=target,
    )


def _refuse_array(path: Path) -> None:
    """An array has no words: of one that belongs to a pickle, the pickle is named instead."""
    owner = path
    while owner.suffix:  # w.model.wv.vectors.npy belongs to w.model
        owner = owner.with_suffix("")
        if owner.is_file():
            refuse_pickle(Start.of(owner))
    raise FormatError(
        "{path} is one NumPy array, and vectors have words, too. Save both in an .npz file (words, table).",
        path=path,
    )


def free_binary_file(path: Path) -> Path:
    """A file beside `path` for word2vec's binary format that does not exist yet."""
    target = path.with_name(f"{path.name}.bin")
    number = 2
    while target.exists():
        target = path.with_name(f"{path.name}-{number}.bin")
        number += 1
    return target
