"""Results of a training: saved whole, beside the output while they are partial, elsewhere if that fails."""

from __future__ import annotations

import contextlib
import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from inlaid.commands.terminal import as_typed, print_note, words_by_dim
from inlaid.errors import InlaidError, Unsynced, WriteError
from inlaid.locks import short_name
from inlaid.messages import Message
from inlaid.report import Note, Report

if TYPE_CHECKING:
    from inlaid.vectors import Card

NATIVE = ".inlaid"
STATIC = "static-embedding"
"""The format of word vectors that are the result of a method for models."""


def target_for(options: Any) -> Target:
    """Where the result of a training goes, settled before any work."""
    if type(options.settings).abilities.model:
        return ModelTarget(options)
    return VectorsTarget(options)


class Target(ABC):
    """The output of a training, and the file or folder beside it for the result of a run that has not
    finished."""

    partial_suffix: ClassVar[str]
    is_folder: bool
    overwrite: bool

    def __init__(self, options: Any) -> None:
        self.output: Path = options.output

    @property
    def partial(self) -> Path:
        """Where the result of an unfinished run goes, so that it never replaces a finished one."""
        stem = self.output.parent / (self.output.name.removesuffix(NATIVE) or self.output.name)
        return self.output.parent / f"{short_name(stem, len(self.partial_suffix))}{self.partial_suffix}"

    def check_partial(self) -> None:
        """Raise WriteError if the result of an unfinished run would replace something else."""
        path = self.partial
        card = self.card_of(path)
        if not path.exists() or (card is not None and is_partial(card)):
            return
        raise WriteError(
            "{path} exists and is not a partial result; an interrupted run would replace it. Rename it, or "
            "name another output.",
            path=path,
        )

    def save(self, result: Any, report: Report) -> Path:
        """Save a result, and return where it is: the output, or beside it if it is partial."""
        path = self.partial if is_partial(result.card) else self.output
        with self._rescuing(result, path, report):
            if path == self.partial:
                self.check_partial()
                self.write_partial(result, report)
            else:
                self.write(result, report)
        return path

    @contextlib.contextmanager
    def _rescuing(self, result: Any, path: Path, report: Report) -> Iterator[None]:
        """If a result cannot be saved as asked, it is saved beside it or, where that fails, in the folder for
        temporary files, so that no work is lost."""
        try:
            yield
        except Unsynced:
            raise
        except (InlaidError, OSError):
            name = path.name.replace(self.partial_suffix, "-partial")
            for folder in (path.parent, Path(tempfile.gettempdir())):
                with contextlib.suppress(InlaidError, OSError):  # the first error matters more
                    report(self.instead(self.write_free(result, folder / name, report)))
                    break
            raise

    def clean_up(self, card: Card, checkpoint: Path | None) -> None:
        """Remove the checkpoint and the partial result of a run that is over."""
        from inlaid.jobs import checkpoint as checkpoints

        if card.outcome is None or not card.outcome.finished:
            return
        identity = _identity(card)
        partial = self.partial
        earlier = self.card_of(partial)
        try:
            if checkpoint is not None:
                checkpoints.remove(checkpoint, identity)
            if earlier is not None and is_partial(earlier) and _identity(earlier) == identity:
                self.remove(partial)
        except InlaidError as error:  # the result is saved all the same
            stays = checkpoint is not None and checkpoint.exists()
            note = Note("the checkpoint stays: {reason}", reason=error)
            print_note(note if stays else Note("{reason}", reason=error))
        except OSError as error:
            print_note(Note("{path} stays: {reason}", path=partial, reason=error.strerror))

    @abstractmethod
    def write(self, result: Any, report: Report) -> None:
        """Write a result to the output."""

    @abstractmethod
    def write_partial(self, result: Any, report: Report) -> None:
        """Write a result beside the output, over an earlier one that is partial."""

    @abstractmethod
    def write_free(self, result: Any, path: Path, report: Report) -> Path:
        """Write a result to a path like this where nothing exists yet, and return it."""

    @abstractmethod
    def remove(self, path: Path) -> None:
        """Remove a partial result."""

    @abstractmethod
    def card_of(self, path: Path) -> Card | None:
        """The card of a result; None if there is none."""

    @abstractmethod
    def instead(self, path: Path) -> Note:
        """Says that the result is there, and not where it was asked for."""

    @abstractmethod
    def unfinished(self) -> Message:
        """Says that the result is partial."""

    @abstractmethod
    def last_good(self, path: Path) -> Note:
        """Says where the last good result of a training that diverged is."""

    @abstractmethod
    def summary(self, result: Any) -> Message:
        """The size of a result."""

    @abstractmethod
    def print_next_steps(self, path: Path, result: Any) -> None:
        """What to type next."""


class VectorsTarget(Target):
    """Vectors: a file, or a folder for the formats that are folders."""

    partial_suffix = ".partial.inlaid"

    def __init__(self, options: Any) -> None:
        from inlaid import storage

        super().__init__(options)
        self.format: str | None = options.format
        self.overwrite = options.overwrite
        self.is_folder = storage.is_folder_format(storage.output_format(options.output, options.format))

    def write(self, result: Any, report: Report) -> None:
        from inlaid import storage

        storage.save(result, self.output, format=self.format, overwrite=self.overwrite, report=report)

    def write_partial(self, result: Any, report: Report) -> None:
        from inlaid import storage

        storage.save(result, self.partial, report=report)

    def write_free(self, result: Any, path: Path, report: Report) -> Path:
        from inlaid import storage
        from inlaid.formats.reading import free_native_file

        free = free_native_file(path)
        storage.save(result, free, report=report)
        return free

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def card_of(self, path: Path) -> Card | None:
        from inlaid.formats import native

        try:
            return native.read(path).card
        except (InlaidError, OSError):
            return None

    def instead(self, path: Path) -> Note:
        return Note("The vectors are in {path} instead.", path=path)

    def unfinished(self) -> Message:
        return Message(
            "These vectors are partial: {path} is written when the run has finished.", path=self.output
        )

    def last_good(self, path: Path) -> Note:
        return Note("The last good vectors are in {path}.", path=path)

    def summary(self, result: Any) -> Message:
        return words_by_dim(result)

    def print_next_steps(self, path: Path, result: Any) -> None:
        """Neighbors of a word that is neither the most frequent nor rare; scores where no file of tasks is
        needed."""
        from inlaid.jobs.unmoved import unmoved_note
        from inlaid.study.evaluate.world_tasks import is_of_world

        shown = _typed(path)
        steps = [f"neighbors {shown} {as_typed(_frequent_word(result))}", f"doctor {shown}"]
        if is_of_world(result):
            steps.insert(1, f"evaluate {shown}")
        print_next(steps)
        unmoved = unmoved_note(result.card.outcome, len(result))
        if unmoved is not None:
            print(f"\n{unmoved}")


class ModelTarget(Target):
    """A model: a folder."""

    partial_suffix = ".partial"
    is_folder = True
    overwrite = False

    def write(self, result: Any, report: Report) -> None:
        _save_model(result, self.output, report)

    def write_partial(self, result: Any, report: Report) -> None:
        from inlaid import files

        if not self.partial.exists():
            _save_model(result, self.partial, report)
            return
        fresh = self.write_free(result, self.partial, report)
        try:
            self._remove_like(self.partial, fresh)
        except WriteError:
            files.remove_folder(fresh)
            raise
        files.rename_folder(fresh, self.partial)

    def write_free(self, result: Any, path: Path, report: Report) -> Path:
        numbered = (path.with_name(f"{path.name}-{number}") for number in range(2, 1000))
        free = next(each for each in (path, *numbered) if not each.exists())
        _save_model(result, free, report)
        return free

    def remove(self, path: Path) -> None:
        self._remove_like(path, self.output)

    def _remove_like(self, path: Path, model: Path) -> None:
        """Remove the folder of a model. Raise WriteError if it holds a file that no model like `model` has:
        somebody put it there."""
        from inlaid import files

        foreign = sorted(_files_in(path) - _files_in(model))
        if foreign:
            raise WriteError(
                "{path} stays: it holds {file}, which Inlaid did not write. Move it elsewhere.",
                path=path,
                file=foreign[0],
            )
        files.remove_folder(path)

    def card_of(self, path: Path) -> Card | None:
        from inlaid.formats.cards import read_card
        from inlaid.report import silent

        try:
            return read_card(path / "card.json", (path / "card.json").read_bytes(), silent)
        except (InlaidError, OSError):
            return None

    def instead(self, path: Path) -> Note:
        return Note("The model is in {path} instead.", path=path)

    def unfinished(self) -> Message:
        return Message(
            "This model is partial: {path} is written when the run has finished.", path=self.output
        )

    def last_good(self, path: Path) -> Note:
        return Note("The last good model is in {path}.", path=path)

    def summary(self, result: Any) -> Message:
        from inlaid.neural.sizes import parameters
        from inlaid.vectors import Vectors

        if isinstance(result, Vectors):
            return words_by_dim(result)
        count = sum(parameters(result.config).values())
        words = result.config.vocab_size
        target = result.config.target_vocab_size
        if target:
            return Message(
                "{count:,} parameters, {words:,} and {target:,} tokens in the vocabularies",
                count=count,
                words=words,
                target=target,
            )
        return Message("{count:,} parameters, {words:,} tokens in the vocabulary", count=count, words=words)

    def print_next_steps(self, path: Path, result: Any) -> None:
        from inlaid import registry

        commands = registry.find("method", result.card.method).next_steps
        examples = EXAMPLES["zh" if _knows_chinese(result) else "en"]
        print_next([command.format(path=_typed(path), **examples) for command in commands])


def print_next(steps: Sequence[str]) -> None:
    """Commands to type next."""
    print(Message("\nNext:"), *(f"  inlaid {step}" for step in steps), sep="\n")


EXAMPLES = {
    "zh": {"text": "我喜欢苹果", "start": "从前", "blank": "我喜欢吃[MASK]"},
    "en": {"text": "I like apples", "start": "Once upon a", "blank": "I like to eat [MASK]"},
}
"""Texts to try a model with."""
CHINESE_SHARE = 0.1
"""Share of Chinese words in a vocabulary from which a model is shown Chinese."""


def _knows_chinese(result: Any) -> bool:
    """Whether a part of the vocabulary of a model, or of vectors, is Chinese."""
    from inlaid.encode.chinese import HAN
    from inlaid.encode.subwords.spelling import BYTE_LEVEL, mark_of, readable
    from inlaid.vectors import Vectors

    words = list(result.words) if isinstance(result, Vectors) else list(result.tokenizer.get_vocab())
    if mark_of(words) == BYTE_LEVEL:
        words = readable(words)
    chinese = sum(bool(re.search(f"[{HAN}]", word)) for word in words)
    return chinese >= CHINESE_SHARE * len(words)


def _files_in(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


def _save_model(result: Any, path: Path, report: Report) -> None:
    """A model as a folder; one that is a table of word vectors alone as a folder of sentence-transformers."""
    from inlaid.vectors import Vectors

    if isinstance(result, Vectors):
        from inlaid import storage

        storage.save(result, path, format=STATIC, report=report)
        return
    from inlaid.neural.checkpoint import save_model

    save_model(result, path)


def say_how_to_continue(unfinished: Message, card: Card, checkpoint: Path | None) -> None:
    """After a run that has not finished: --resume continues from its checkpoint."""
    outcome = card.outcome
    if outcome is None or outcome.finished:
        return
    print(unfinished)
    if checkpoint is not None and checkpoint.exists():
        print(
            Message("Continue with the same command and --resume; the checkpoint is {path}.", path=checkpoint)
        )
    if outcome.reason == "interrupted":
        raise KeyboardInterrupt


def is_partial(card: Card) -> bool:
    """Whether a result is of a run that has not finished."""
    return card.outcome is not None and not card.outcome.finished


def _frequent_word(vectors: Any) -> str:
    import numpy as np

    from inlaid.encode.subwords.spelling import plain

    ids = np.arange(len(vectors))
    if vectors.counts is not None:  # the ids of subwords are not in the order of their counts
        ids = np.argsort(-vectors.counts, kind="stable")[: max(np.count_nonzero(vectors.counts), 1)]
    middle = min(len(ids) // 10, 500)
    words = [plain(vectors.words[id]) for id in ids[middle : middle + 100].tolist()]
    return next((each for each in words if each.isalpha() and each in vectors), vectors.words[int(ids[0])])


def _typed(path: Path) -> str:
    """A path as it is typed in a command; one with a dash would be read as a flag."""
    return as_typed(f"./{path}" if str(path).startswith("-") else path)


def _identity(card: Card) -> dict[str, Any]:
    from inlaid.jobs.checkpoint import identity_of

    return identity_of(card.method, card.settings, card.corpus)
