"""Examples in the help of every command. Those of an analysis are in its docstring."""

from __future__ import annotations

from typing import Any

from inlaid import registry
from inlaid.commands.terminal import wrapped
from inlaid.messages import Message

OF_COMMANDS = {
    "demo": ("demo", "demo --lang zh"),
    "tour": ("tour", "tour -o tour.ipynb"),
    "world": ("world -o world.txt --words 300000", "world -o - --language en --words 1000"),
    "tokenize": ('tokenize "我喜欢吃苹果。"', 'tokenize "unbelievable" --tokenizers word char'),
    "corpus": (
        "corpus text.txt -o text.corpus",
        "corpus texts.jsonl -o text.corpus --field body --min-count 2",
    ),
    "phrases": (
        "phrases text.corpus -o joined.corpus",
        "phrases text.corpus -o joined.corpus --threshold 50 --save text.phrases",
    ),
    "train": (
        "train sgns text.txt -o vectors.inlaid",
        "train fasttext text.txt -o vectors.inlaid --minutes 30",
    ),
    "classify": (
        "classify train reviews.tsv -o reviews.classifier",
        "classify test reviews.classifier others.tsv",
    ),
    "classify train": (
        "classify train reviews.tsv -o reviews.classifier --word-ngrams 2",
        "classify train labelled.txt -o small.classifier --embedder vectors.inlaid",
    ),
    "classify predict": (
        'classify predict reviews.classifier "a good film" -n 2',
        "classify predict reviews.classifier - --json < texts.txt",
    ),
    "classify test": (
        "classify test reviews.classifier others.tsv",
        "classify test reviews.classifier labelled.txt --json",
    ),
    "convert": (
        "convert vectors.bin vectors.inlaid",
        "convert vectors.inlaid - --format glove > vectors.txt",
    ),
    "info": ("info vectors.inlaid", "info text.corpus --json"),
    "verify": ("verify vectors.inlaid", "verify text.corpus --json"),
    "serve": ("serve vectors.inlaid", "serve en=vectors.inlaid model=bert --port 9000"),
    "explore": ("explore vectors.inlaid", "explore en.inlaid zh.inlaid --dictionary en-zh.txt"),
    "draw": ("draw matrix", "draw rotary --dim 16 -o rotary.html"),
    "completion": ("completion bash", "completion zsh > ~/.inlaid-completion.zsh"),
}
"""Two for each command that is not an analysis, without "inlaid"."""


def examples_of(program: str) -> list[str]:
    """What can be typed, for the name of a command as its help has it: inlaid train sgns."""
    name = program.removeprefix("inlaid ")
    command, _, method = name.partition(" ")
    if name in OF_COMMANDS:
        examples = OF_COMMANDS[name]
    elif command == "train":
        examples = _of_method(method, registry.find("method", method))
    elif command == "draw":
        examples = (f"draw {method}", f"draw {method} -o {method}.svg --lang zh")
    else:
        return list(registry.find("analysis", name.replace("-", "_")).analysis.examples)
    return [f"inlaid {example}" for example in examples]


def _of_method(name: str, kind: Any) -> tuple[str, str]:
    """What a method reads and writes follows from what it can do."""
    from inlaid.jobs.training import ReadsPairs

    abilities = kind.abilities
    text = "pairs.tsv" if issubclass(kind, ReadsPairs) else "text.txt"
    output = "model" if abilities.model else "vectors.inlaid"
    first = f"train {name} {text} -o {output}"
    return first, f"{first} --minutes 30" if abilities.steps else f"{first} --min-count 2"


def examples_text(program: str) -> str:
    """The examples as the help shows them, after its frames; empty where there are none."""
    lines = [wrapped(line, first="  ", rest="    ") for line in examples_of(program)]
    return "\n".join([str(Message("\nexamples:")), *lines]) if lines else ""
