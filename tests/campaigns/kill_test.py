"""SIGKILL at random moments of every command: nothing is lost, and what is resumed ends in the same bits.

    python tests/campaigns/kill_test.py                          # until 3,072 kills are counted
    python tests/campaigns/kill_test.py --jobs 16 --minutes 10   # for ten minutes; the next run goes on
    python tests/campaigns/kill_test.py --only causal --kills 100 --state here.json
    python tests/campaigns/kill_test.py --only masked causal 'convert *' --each --kills 100

Everything is imported and compiled once. Each trial is a fork that runs `inlaid.cli.main` and is killed after
a delay drawn from the length of an undisturbed run; some are processes of their own, so that their start is
covered. After a kill the output must be absent, the earlier one or the new one, as a whole, and a checkpoint
must be readable; the same command, with --resume where there is one, then continues from it, ends in the bits
of an undisturbed run and leaves nothing behind. A kill counts in the row of the stage that it hit. Methods
that train networks take part where torch is installed; theirs are tiny.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import itertools
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # the jobs have the cores

import numpy as np  # noqa: E402
from tally import GAP, Tally  # noqa: E402

import inlaid  # noqa: E402
from inlaid import cli, locks, registry, report  # noqa: E402
from inlaid.encode.corpus import open_corpus  # noqa: E402
from inlaid.formats.cards import read_card  # noqa: E402
from inlaid.jobs import checkpoint  # noqa: E402
from inlaid.jobs.training import ReadsPairs  # noqa: E402

CAMPAIGN = "kill"
TRIALS = "kill trials"
"""Where the seeds are counted: a trial has several kills, which may hit different stages."""
KILLS = 3072
OUTCOMES = ("same", "lost", "wrong", "leftover")
SEARCHED = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
FAILURES = ("lost", "wrong", "leftover")
STAGE_BYTES = 64
LATE = 1.1
"""Kills come until this multiple of the length of an undisturbed run."""
WRITING = ("writing the output", "after the output", "writing a checkpoint")
AT_ANY_TIME = 0.7
"""Share of the kills that come at any moment; the others come as soon as something is written."""
SOON = 0.02
"""Seconds within which these come."""
LIVES = 4
"""Times that one run is killed, at most."""
CONTINUED = "Continuing from"
"""What a run that continues from a checkpoint says."""
LIMIT = 120.0
"""Seconds after which a run hangs."""


@dataclass(frozen=True)
class Case:
    """A command, what it writes, and how that is read."""

    name: str
    words: tuple[str, ...]
    """What a user types; OUT is the output, a bare name a file of the inputs."""
    output: str
    read: Callable[[Path], list[bytes]]
    resumes: bool = False
    own_process: bool = False
    """Started as a program, import and all, instead of forked."""

    @property
    def subject(self) -> str:
        """The method that is trained, or else the command."""
        return self.words[1] if self.words[0] == "train" else self.words[0]


@dataclass
class Measured:
    """A case with what an undisturbed run of it gives."""

    case: Case
    seconds: float = 0.0
    expected: str = ""
    earlier: Path | None = None
    """An output of the same kind with other content, which the run replaces."""
    earlier_digest: str = ""


def of_vectors(path: Path) -> list[bytes]:
    """The words and arrays of a file of vectors; the card has a time in it and is left out."""
    vectors = inlaid.load(path, report=report.silent)
    arrays = [vectors.table, vectors.contexts, vectors.counts]
    found = [np.ascontiguousarray(array).tobytes() for array in map(whole, arrays) if array is not None]
    return ["\n".join(vectors.words).encode(), *found]


def whole(array: Any) -> Any:
    return array.whole() if hasattr(array, "whole") else array


def of_corpus(path: Path) -> list[bytes]:
    corpus = open_corpus(path)
    arrays = (corpus.ids, corpus.offsets, corpus.vocabulary.counts)
    return [
        "\n".join(corpus.vocabulary.words).encode(),
        *(np.ascontiguousarray(each).tobytes() for each in arrays),
    ]


def of_model(path: Path) -> list[bytes]:
    """The files of a model, which must load; of its card, what a run gives again: losses, but no times."""
    if (path / "config.json").exists():  # otherwise it is a table of word vectors
        from inlaid.neural.checkpoint import load_model

        load_model(path)
    else:
        of_vectors(path)
    card = read_card(path / "card.json", (path / "card.json").read_bytes(), report.silent)
    outcome = None if card.outcome is None else replace(card.outcome, seconds=0.0)
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != "card.json")
    return [
        repr(outcome).encode(),
        *(part for file in files for part in (file.name.encode(), file.read_bytes())),
    ]


def of_bytes(path: Path) -> list[bytes]:
    return [path.read_bytes()]


def digest(case: Case, path: Path) -> str:
    parts = case.read(path)
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest()


def networks() -> dict[str, str]:
    """The methods that train a network, and the text that each reads."""
    if not importlib.util.find_spec("torch"):
        return {}
    methods = {entry.name: entry.load() for entry in registry.entries("method")}
    return {
        name: "pairs.tsv" if issubclass(method, ReadsPairs) else "few.txt"
        for name, method in methods.items()
        if method.abilities.model
    }


def cases() -> list[Case]:
    """Every command that writes; commands that only read have nothing to lose."""
    steps = "--dim 16 --min-count 1 --checkpoint-minutes 0 --epochs"
    trained = {
        "train onehot": "train onehot encoded -o OUT",
        "train ppmi": "train ppmi encoded -o OUT --dim 16",
        "train ppmi, from text": "train ppmi text.txt -o OUT --dim 16",
        "train sgns": f"train sgns text.txt -o OUT {steps} 12",
        "train cbow": f"train cbow text.txt -o OUT {steps} 20",
        "train sgns, patience": f"train sgns long.txt -o OUT --patience 3 {steps} 3",
        "train fasttext": f"train fasttext text.txt -o OUT --buckets 2000 {steps} 4",
        "train glove": f"train glove text.txt -o OUT {steps} 40",
        "train sgns --init-from": f"train sgns text.txt -o OUT --init-from sgns.inlaid {steps} 10",
    }
    found = [
        Case(name, tuple(line.split()), "v.inlaid", of_vectors, resumes="epochs" in line)
        for name, line in trained.items()
    ]
    others = {
        "world": ("world -o OUT --words 30000", "w.txt", of_bytes),
        "corpus": ("corpus text.txt -o OUT", "made", of_corpus),
        "phrases": ("phrases encoded -o OUT --min-count 2", "made", of_corpus),
        "align": ("align a.inlaid b.inlaid same.txt -o OUT", "both.inlaid", of_vectors),
        "map": ("map a.inlaid -o OUT --method pca --top 300", "map.html", of_bytes),
    }
    found += [Case(name, tuple(line.split()), *rest) for name, (line, *rest) in others.items()]
    targets = {
        "native": "v.inlaid",
        "native int8": "v.inlaid --dtype int8",
        "glove": "v.txt --format glove",
        "word2vec-text": "v.vec",
        "word2vec": "v.bin --format word2vec",
        "fasttext": "v.bin --format fasttext",
        "npz": "v.npz",
        "projector": "folder --format projector",
        "static-embedding": "folder --format static-embedding",
        "model2vec": "folder --format model2vec",
    }
    with contextlib.suppress(ImportError):
        import pyarrow  # noqa: F401  # pyright: ignore

        targets["parquet"] = "v.parquet"
    for format, words in targets.items():
        output, *flags = words.split()
        source = "fasttext.inlaid" if format == "fasttext" else "sgns.inlaid"
        found.append(Case(f"convert to {format}", ("convert", source, "OUT", *flags), output, of_files))
    found += network_cases()
    started = ["train sgns", "train ppmi", "corpus", "convert to native", "world"]
    started += [f"train {method}" for method in networks()]
    found += [
        replace(case, name=f"{case.name}, its own process", own_process=True)
        for case in found
        if case.name in started
    ]
    return found


def network_cases() -> list[Case]:
    """Every method that trains a network: fresh, from a model, and what else its training can be."""
    found = list[Case]()
    for method, text in networks().items():
        lines = {
            f"train {method}": f"{text} {SMALL} {SUBWORDS} --epochs 2",
            f"train {method}, patience": f"{text} {SMALL} {SUBWORDS} --patience 2 --held-out 0.2 --epochs 2",
            f"train {method} --init-from": f"{text} --max-length 32 --epochs 1 --init-from from-{method}",
        }
        if method == "contrastive":
            lines[f"train {method}, word vectors"] = f"{text} --epochs 12 --init-from sgns.inlaid"
        for name, line in lines.items():
            words = f"train {method} {line} -o OUT --checkpoint-minutes 0".split()
            found.append(Case(name, tuple(words), "model", of_model, resumes=True))
    return found


def of_files(path: Path) -> list[bytes]:
    """Vectors where they are one file; the bytes of a folder of files."""
    if path.is_file():
        return of_vectors(path)
    return [part for file in sorted(path.rglob("*")) for part in (file.name.encode(), file.read_bytes())]


SMALL = "--dim 16 --layers 1 --max-length 32"
SUBWORDS = "--tokenizer bpe --subwords 600"
INPUTS = {
    "encoded": "corpus text.txt -o",
    "a.inlaid": "train ppmi encoded --dim 16 -o",
    "b.inlaid": "train ppmi more.txt --dim 16 -o",
    "sgns.inlaid": "train sgns encoded --dim 16 --epochs 2 -o",
    "fasttext.inlaid": "train fasttext encoded --dim 16 --epochs 1 --buckets 2000 -o",
    **{
        f"from-{method}": f"train {method} {text} {SMALL} {SUBWORDS} --epochs 1 --seed 2 -o"
        for method, text in networks().items()
    },
}
"""Files that commands read, and how they are made, each from those before it."""


def make_inputs(folder: Path, chosen: Sequence[Case]) -> None:
    """Texts, and what the chosen commands read."""
    from inlaid.collect import world

    for name, words, seed in (("text", 15_000, 1), ("more", 15_000, 2), ("long", 90_000, 3)):
        both = [
            *world.sentences("en", words=words, seed=seed),
            *world.sentences("zh", words=words, seed=seed),
        ]
        (folder / f"{name}.txt").write_text("\n".join(both), "utf-8")
    (folder / "few.txt").write_text("\n".join(world.sentences("both", words=3000, seed=4)), "utf-8")
    pairs = [f"{pair.zh}\t{pair.en}\n" for pair in world.pairs(words=2000, seed=5)]
    (folder / "pairs.tsv").write_text("".join(pairs), "utf-8")
    names = ("man", "woman", "king", "apple", "banana", "red", "dog", "cat")
    (folder / "same.txt").write_text("".join(f"{name} {name}\n" for name in names), "utf-8")
    wanted = {word for case in chosen for word in case.words} | {"encoded", "b.inlaid"}
    for name, line in INPUTS.items():
        if name in wanted and call([*typed(line.split(), folder), str(folder / name)]):
            raise SystemExit(f"could not make the inputs: {line}")


def typed(words: Sequence[str], inputs: Path) -> list[str]:
    """The words with the inputs as paths."""
    return [str(inputs / word) if (inputs / word).exists() else word for word in words]


def call(words: list[str]) -> int:
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        return cli.main(words)


class Life:
    """One run of a command, in a child: forked, or a process of its own."""

    def __init__(self, case: Case, words: list[str], folder: Path, log: Path) -> None:
        self.stage = mmap.mmap(-1, STAGE_BYTES)
        self.began = time.monotonic()
        self.code: int | None = None
        if case.own_process:
            with open(log, "wb") as said:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "inlaid.cli", *words],
                    stdout=said,
                    stderr=said,
                    env={**os.environ, "PYTHONPATH": SEARCHED},
                    start_new_session=True,
                )
            self.pid = self.process.pid
            return
        self.pid = os.fork()
        if self.pid == 0:
            run_forked(words, folder, log, self.stage)

    def wait(self, seconds: float, stages: Sequence[str] = ()) -> bool:
        """Whether it ended within so many seconds, or before it reached one of these stages."""
        until = time.monotonic() + seconds
        while self.code is None and self.now not in stages:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= until:
                return False
            else:
                time.sleep(min(0.002, max(until - time.monotonic(), 0)))
        return self.code is not None

    @property
    def now(self) -> str:
        """The stage it is in."""
        return self.stage[:].rstrip(b"\0").decode() or "start"

    def lives_until(self, chance: random.Random, seconds: float) -> bool:
        """Wait for the moment of a kill; whether it came. It is any moment of a run of so many seconds or, as
        writing takes a small part of it, one in which something is written."""
        stages = () if chance.random() < AT_ANY_TIME else (chance.choice(WRITING),)
        if stages and self.wait(LATE * seconds, stages):
            return False
        return not self.wait(chance.uniform(0, SOON if stages else LATE * seconds))

    def kill(self) -> str:
        """Kill it, and then what it started; the stage it was in."""
        os.kill(self.pid, signal.SIGKILL)
        self.wait(LIMIT)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        return self.now


def run_forked(words: list[str], folder: Path, log: Path, stage: mmap.mmap) -> None:
    """The child: it never returns."""
    code = 3
    try:
        os.setsid()
        said = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        note_stages(stage, folder)
        code = cli.main(words)
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def note_stages(stage: mmap.mmap, folder: Path) -> None:
    """Write the stage of a run where the parent reads it: it shows in progress events and opened files."""
    now = ["start"]

    def enter(name: str) -> None:
        now.append(name)
        stage[:] = name.encode()[:STAGE_BYTES].ljust(STAGE_BYTES, b"\0")

    made = report.Progress.__init__

    def progress(self: Any, name: str, *rest: Any, **more: Any) -> None:
        enter(name)
        made(self, name, *rest, **more)

    report.Progress.__init__ = progress  # type: ignore[method-assign]

    def audit(event: str, given: tuple[Any, ...]) -> None:
        if not given or str(given[0]).endswith(locks.LOCK):
            return
        if event == "open" and str(given[0]).startswith(str(folder)) and writes(given):
            enter("writing a checkpoint" if ".checkpoint" in str(given[0]) else "writing the output")
        elif event == "os.rename" and str(given[1]).startswith(str(folder)):
            enter("after a checkpoint" if ".checkpoint" in str(given[1]) else "after the output")
        elif event == "os.remove" and str(given[0]).startswith(str(folder)) and now[-1].startswith("writing"):
            enter(now[-2])  # a probe

    sys.addaudithook(audit)


def writes(opened: tuple[Any, ...]) -> bool:
    _, mode, flags = opened
    return bool(set(mode or "") & set("wxa+")) or bool((flags or 0) & (os.O_WRONLY | os.O_RDWR))


def measure(case: Case, inputs: Path, folder: Path) -> Measured:
    """Compile and load what the command needs, in this process; then time it and keep its result."""
    found = Measured(case)
    output = folder / case.output
    if not case.own_process and call(command(case, output, inputs)):
        raise SystemExit(f"`inlaid {' '.join(case.words)}` fails")
    remove(output)
    life = Life(case, command(case, output, inputs), folder, folder / "log")
    if not life.wait(LIMIT) or life.code:
        raise SystemExit(
            f"`inlaid {' '.join(case.words)}` ended with {life.code}: {(folder / 'log').read_text()}"
        )
    found.seconds = time.monotonic() - life.began
    found.expected = digest(case, output)
    if case.output.endswith(".inlaid"):
        found.earlier = inputs / "b.inlaid"
        found.earlier_digest = digest(case, found.earlier)
    return found


def command(case: Case, output: Path, inputs: Path) -> list[str]:
    return [str(output) if word == "OUT" else word for word in typed(case.words, inputs)]


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@dataclass
class Trial:
    """One run, killed a few times and then left to its end."""

    measured: Measured
    seed: int
    inputs: Path
    folder: Path
    kills: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Stage and outcome of each."""
    problems: list[str] = field(default_factory=list[str])

    def run(self) -> None:
        case = self.measured.case
        chance = random.Random(f"{case.name}:{self.seed}")
        self.output = self.folder / case.output
        self.checkpoint = self.output.with_name(f"{case.output}.checkpoint")
        self.log = self.folder.with_name(f"{self.folder.name}.log")
        words = command(case, self.output, self.inputs)
        if self.measured.earlier is not None and chance.random() < 0.5:
            shutil.copy(self.measured.earlier, self.output)
        self.had_earlier = self.output.exists()
        self.checkpoint_seen = False
        ended: Life | None = None
        for _ in range(chance.randint(1, LIVES if case.resumes else 2)):
            life = Life(case, words, self.folder, self.log)
            if not life.lives_until(chance, self.measured.seconds):
                ended = life
                break
            self.kills.append((life.kill(), self.after_kill()))
            self.checkpoint_seen = self.checkpoint.exists()
            if case.resumes and "--resume" not in words:
                words.append("--resume")
        if self.kills and self.kills[-1][1] == "same":
            last = ended or Life(case, words, self.folder, self.log)
            self.kills[-1] = (self.kills[-1][0], self.at_the_end(last))
        self.log.unlink(missing_ok=True)

    def after_kill(self) -> str:
        """What is there after a kill: the outcome."""
        if self.checkpoint.exists():
            try:
                checkpoint.open_saved(self.checkpoint)
            except Exception as error:
                return self.fails("lost", f"the checkpoint cannot be read: {error}")
        if not self.output.exists():
            return self.fails("lost", "the earlier output is gone") if self.had_earlier else "same"
        try:
            found = digest(self.measured.case, self.output)
        except Exception as error:
            return self.fails("lost", f"the output cannot be read: {error}")
        if found == self.measured.expected:
            if not self.measured.case.resumes or self.output.is_dir():
                # it was done, only what came after it was killed; a folder is not replaced by a resumed run
                remove(self.output)
                self.had_earlier = False
            return "same"
        if self.had_earlier and found == self.measured.earlier_digest:
            return "same"
        return self.fails("wrong", "the output has other bits")

    def at_the_end(self, life: Life) -> str:
        """What the run that was not killed gives: the outcome."""
        if not life.wait(LIMIT):
            life.kill()
            return self.fails("lost", "it hangs")
        if life.code:
            return self.fails(
                "lost", f"ended with {life.code}: {self.log.read_text('utf-8', 'replace')[-500:]}"
            )
        if digest(self.measured.case, self.output) != self.measured.expected:
            return self.fails("wrong", "the output has other bits in the end")
        said = self.log.read_text("utf-8", "replace")
        if self.checkpoint_seen and CONTINUED not in said:  # starting again would give the same bits
            return self.fails("lost", f"a checkpoint was there, and the run did not continue from it: {said}")
        left = sorted(path.name for path in self.folder.iterdir() if path != self.output)
        if left:
            return self.fails("leftover", f"left behind: {', '.join(left)}")
        return "same"

    def fails(self, outcome: str, problem: str) -> str:
        self.problems.append(problem)
        return outcome


@dataclass(frozen=True)
class Jobs:
    """What all jobs work on. They are forks of this process."""

    measured: list[Measured]
    seeds: list[int]
    """The first seed of each case."""
    inputs: Path
    count: int
    stop: mmap.mmap
    """One byte for each case: 1 when it is to end."""

    def start(self) -> tuple[Any, list[int]]:
        """A stream of their results, one JSON object a line, and their process ids."""
        reading, writing = os.pipe()
        pids = list[int]()
        for job in range(self.count):
            pid = os.fork()
            if pid == 0:
                os.close(reading)
                try:
                    for result in self.work(job):
                        os.write(writing, f"{json.dumps(result)}\n".encode())
                except BaseException:
                    traceback.print_exc()
                os._exit(0)
            pids.append(pid)
        os.close(writing)
        return os.fdopen(reading, "rb"), pids

    def work(self, job: int) -> Iterator[dict[str, Any]]:
        """Trials of one job, until all stop: the cases in turn, each job with seeds of its own."""
        for turn in itertools.count():
            if all(self.stop[:]):
                return
            for number, each in enumerate(self.measured):
                if self.stop[number]:
                    continue
                seed = self.seeds[number] + turn * self.count + job
                folder = Path(tempfile.mkdtemp(prefix="trial-", dir=self.inputs.parent))
                trial = Trial(each, seed, self.inputs, folder)
                trial.run()
                shutil.rmtree(folder, ignore_errors=True)
                yield {"case": each.case.name, "seed": seed, "kills": trial.kills, "problems": trial.problems}


def campaign(options: argparse.Namespace) -> int:
    began = time.monotonic()
    tally = Tally.open(options.state)
    chosen = [case for case in cases() if not options.only or is_named(case, options.only)]
    if not chosen:
        raise SystemExit(f"no command is called {' or '.join(options.only)}")
    with tempfile.TemporaryDirectory(prefix="kill-test-") as place:
        inputs = Path(place) / "inputs"
        inputs.mkdir()
        make_inputs(inputs, chosen)
        measured = list[Measured]()
        for number, case in enumerate(chosen):
            folder = Path(place) / f"measured-{number}"
            folder.mkdir()
            measured.append(measure(case, inputs, folder))
        print(f"{len(measured)} commands measured in {time.monotonic() - began:.0f} s", flush=True)
        seeds = [tally.seed(TRIALS, case.name) for case in chosen]
        jobs = Jobs(measured, seeds, inputs, options.jobs, mmap.mmap(-1, len(measured)))
        results, pids = jobs.start()
        try:
            follow(results, tally, options, jobs, began)
        finally:
            jobs.stop[:] = b"\1" * len(measured)
            for line in results:  # trials that were under way count too
                count(json.loads(line), tally)
            tally.save()
            for pid in pids:
                os.waitpid(pid, 0)
    print(tally.table(CAMPAIGN, heads=("command", "stage"), outcomes=OUTCOMES))
    return 1 if tally.count(CAMPAIGN, *FAILURES) else 0


def is_named(case: Case, names: Sequence[str]) -> bool:
    """Whether a case is among those that were asked for: by method, by command, or by a pattern of names."""
    return any(name == case.subject or fnmatch(case.name, name) for name in names)


def follow(results: Any, tally: Tally, options: argparse.Namespace, jobs: Jobs, began: float) -> None:
    """Count results until there are enough kills or the time is over."""
    saved = time.monotonic()
    stop_those_with_enough(jobs, tally, options)
    while not all(jobs.stop[:]):
        line = results.readline()
        if not line:
            raise SystemExit("every job ended: see the traceback above")
        count(json.loads(line), tally)
        stop_those_with_enough(jobs, tally, options)
        now = time.monotonic()
        if now - saved > 10:
            saved = now
            tally.save()
            print(f"{tally.count(CAMPAIGN):,} kills, {now - began:.0f} s", flush=True)
        if options.minutes is not None and now - began > 60 * options.minutes:
            return


def stop_those_with_enough(jobs: Jobs, tally: Tally, options: argparse.Namespace) -> None:
    """End the cases of which, or with which, there are enough kills."""
    kills = {each.case.name: 0 for each in jobs.measured}
    for row, outcomes in tally.counts.get(CAMPAIGN, {}).items():
        name = row.split(GAP)[0]
        if name in kills:
            kills[name] += sum(outcomes.values())
    for number, each in enumerate(jobs.measured):
        together = [
            other.case.name
            for other in jobs.measured
            if not options.each or other.case.subject == each.case.subject
        ]
        jobs.stop[number] = sum(kills[name] for name in together) >= options.kills


def count(result: dict[str, Any], tally: Tally) -> None:
    tally.add(TRIALS, result["case"], "done")
    own_process = result["case"].endswith("its own process")
    for stage, outcome in result["kills"]:
        tally.add(CAMPAIGN, (result["case"], "its own process" if own_process else stage), outcome)
    for problem in result["problems"]:
        print(f"{result['case']}, seed {result['seed']}: {problem}", flush=True)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kills", type=int, default=KILLS, help="stop when so many are counted, over all runs"
    )
    parser.add_argument("--each", action="store_true", help="so many of each method and command, not in all")
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="trials at a time")
    parser.add_argument(
        "--state", type=Path, default=Path(".campaigns/kill.json"), help="where counts add up"
    )
    parser.add_argument(
        "--only", nargs="*", default=[], help="methods, commands or patterns of names, as 'convert *'"
    )
    return campaign(parser.parse_args(words))


if __name__ == "__main__":
    sys.exit(main())
