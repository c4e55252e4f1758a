"""Coverage-guided fuzzing of the parsers written here: atheris keeps what reaches new code, and changes that.

    python tests/campaigns/guided.py --seconds 300          # every parser, one after the other
    python tests/campaigns/guided.py --seconds 60 word2vec  # one

What was kept is in .campaigns/guided/, and the next run begins there. What ends in anything but one of
Inlaid's errors is stored there, too, as NAME-crash-HASH.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE)]
STATE = HERE.parents[1] / ".campaigns" / "guided"
FORMULAS = (b"the - of + w1", "北京 - 猫 + w3".encode(), b"2 * the + (of - w1) / 3", b'"w1" + -w2')
LARGEST = 1 << 13
"""Bytes of an input, at most."""
MEMORY = 2048
"""Megabytes of the process."""
Use = Callable[[bytes], Any]


def file_parser(name: str, file: str) -> tuple[Use, list[bytes]]:
    """A parser of files, and valid files to begin with; `file` is a pattern of their names."""
    from fuzz.targets import TARGETS

    made = list(TARGETS[name].make(Path(tempfile.mkdtemp(prefix="guided-"))))
    chosen = [sample for sample in made if sample.path.match(file)]
    first = chosen[0]

    def use(data: bytes) -> None:
        first.path.write_bytes(data)
        first.read(first.path)

    return use, [sample.path.read_bytes() for sample in chosen]


def native_header() -> tuple[Use, list[bytes]]:
    """The header of a native file; its checksum is made right, so that what is behind it is reached."""
    from inlaid.array_writer import header_checksum

    read, files = file_parser("native", "*.inlaid")
    sizes = [int.from_bytes(data[:8], "little") for data in files]
    content = files[0][8 + sizes[0] :]

    def use(header: bytes) -> None:
        try:
            tree = json.loads(header)
            about = tree["__metadata__"]
            layout = {
                key: (each["dtype"], each["shape"]) for key, each in tree.items() if key != "__metadata__"
            }
            rest = {key: value for key, value in about.items() if not key.startswith("inlaid.")}
            about["inlaid.header"] = header_checksum(layout, rest, json.loads(about["inlaid.checksums"]))
            header = json.dumps(tree).encode()
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass
        read(len(header).to_bytes(8, "little") + header + content)

    return use, [data[8 : 8 + size] for data, size in zip(files, sizes, strict=True)]


def formulas() -> tuple[Use, list[bytes]]:
    from fuzz.samples import vectors

    import inlaid

    value = vectors()
    return lambda data: inlaid.analogy(value, data.decode("utf-8", "replace")), list(FORMULAS)


PARSERS: dict[str, Callable[[], tuple[Use, list[bytes]]]] = {
    "lines": lambda: file_parser("glove", "*.txt"),
    "word2vec-text": lambda: file_parser("word2vec-text", "*.vec"),
    "word2vec": lambda: file_parser("word2vec", "*.bin"),
    "fasttext": lambda: file_parser("fasttext", "*.bin"),
    "fasttext-quantized": lambda: file_parser("fasttext", "*.ftz"),
    "native-header": native_header,
    "tasks": lambda: file_parser("tasks", "*.*"),
    "dictionaries": lambda: file_parser("dictionaries", "*.txt"),
    "formulas": formulas,
}


def fuzz(name: str, settings: list[str]) -> None:
    """The process of one parser; it ends when libFuzzer does."""
    import atheris

    with atheris.instrument_imports(include=["inlaid"]):
        import inlaid.formats.fasttext
        import inlaid.formats.native
        import inlaid.formats.text
        import inlaid.formats.word2vec
        import inlaid.study.compare.dictionaries
        import inlaid.study.evaluate.task_files
        import inlaid.study.search.analogy  # noqa: F401
    from inlaid.errors import InlaidError

    use, seeds = PARSERS[name]()
    corpus = STATE / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)

    def one(data: bytes) -> None:
        with contextlib.suppress(InlaidError):
            use(data)

    limits = [f"-max_len={LARGEST}", "-timeout=10", f"-rss_limit_mb={MEMORY}", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={STATE}/{name}-", *settings, str(corpus)], one)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parsers", nargs="*", help=f"of {', '.join(PARSERS)}; default: all")
    parser.add_argument("--seconds", type=int, default=60, help="time for each parser")
    parser.add_argument("--here", action="store_true", help="one parser in this process")
    chosen = parser.parse_args()
    limit = f"-max_total_time={chosen.seconds}"
    if chosen.here:
        fuzz(chosen.parsers[0], [limit])
    failed = 0
    for name in chosen.parsers or PARSERS:
        command = [sys.executable, __file__, "--here", "--seconds", str(chosen.seconds), name]
        ended = subprocess.run(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, check=False)
        said = ended.stdout.decode(errors="replace")
        runs = re.findall(r"number_of_executed_units: (\d+)", said)
        covered = re.findall(r"cov: (\d+)", said)
        inputs = int(runs[-1]) if runs else 0
        print(f"{name:20} {inputs:,} inputs, {covered[-1] if covered else 0} edges covered", flush=True)
        if ended.returncode:
            failed += 1
            print("\n".join(said.splitlines()[-25:]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
