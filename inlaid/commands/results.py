"""Results of a training: saved whole, beside the output while they are partial, elsewhere if that fails."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inlaid.commands.terminal import as_typed
from inlaid.errors import InlaidError, Unsynced, WriteError
from inlaid.locks import short_name
from inlaid.report import Note, Report

if TYPE_CHECKING:
    from inlaid.vectors import Card, Vectors

NATIVE = ".inlaid"
PARTIAL = ".partial.inlaid"
"""Suffix of the vectors of a run that has not finished."""


def partial_file(output: Path) -> Path:
    """Where the vectors of an unfinished run go, so that they never replace a finished result."""
    stem = output.parent / (output.name.removesuffix(NATIVE) or output.name)
    return output.parent / f"{short_name(stem, len(PARTIAL))}{PARTIAL}"


def check_partial(path: Path) -> None:
    """Raise WriteError if the vectors of an unfinished run would replace something else."""
    card = _card_of(path)
    if not path.exists() or (card is not None and _is_partial(card)):
        return
    raise WriteError(
        "{path} exists and is not a partial result; an interrupted run would replace it. Rename it, or name "
        "another output.",
        path=path,
    )


def save(vectors: Vectors, options: Any, report: Report) -> Path:
    """Save vectors, and return where they are: the output, or a file beside it if they are partial."""
    from inlaid import storage

    if _is_partial(vectors.card):
        path = partial_file(options.output)
        with _rescuing(vectors, path, report):
            check_partial(path)
            storage.save(vectors, path, report=report)
        return path
    with _rescuing(vectors, options.output, report):
        storage.save(
            vectors, options.output, format=options.format, overwrite=options.overwrite, report=report
        )
    return options.output


@contextlib.contextmanager
def _rescuing(vectors: Vectors, path: Path, report: Report) -> Any:
    """If vectors cannot be saved as asked, they are saved as an .inlaid file beside it or, where that fails,
    in the folder for temporary files, so that no work is lost."""
    try:
        yield
    except Unsynced:
        raise
    except (InlaidError, OSError):
        name = path.name.replace(PARTIAL, "-partial")
        for folder in (path.parent, Path(tempfile.gettempdir())):
            if _saved_in(folder, vectors, name, report):
                break
        raise


def _saved_in(folder: Path, vectors: Vectors, name: str, report: Report) -> bool:
    from inlaid import storage
    from inlaid.formats.reading import free_native_file

    try:
        path = free_native_file(folder / name)
        storage.save(vectors, path, report=report)
    except (InlaidError, OSError):  # the first error matters more
        return False
    report(Note("The vectors are in {path} instead.", path=path))
    return True


def clean_up(vectors: Vectors, checkpoint: Path | None, output: Path) -> None:
    """Remove the checkpoint and the partial vectors of a run that is over."""
    from inlaid.jobs import checkpoint as checkpoints

    card = vectors.card
    if card.outcome is None or not card.outcome.finished:
        return
    identity = _identity(card)
    partial = partial_file(output)
    earlier = _card_of(partial)
    try:
        if checkpoint is not None:
            checkpoints.remove(checkpoint, identity)
        if earlier is not None and _is_partial(earlier) and _identity(earlier) == identity:
            partial.unlink(missing_ok=True)
    except InlaidError as error:  # the result is saved all the same
        print(f"note: the checkpoint stays: {error}", file=sys.stderr)
    except OSError as error:
        print(f"note: {partial} stays: {error.strerror}", file=sys.stderr)


def say_how_to_continue(vectors: Vectors, checkpoint: Path | None, output: Path) -> None:
    """After a run that has not finished: --resume continues from its checkpoint."""
    outcome = vectors.card.outcome
    if outcome is None or outcome.finished:
        return
    print(f"These vectors are partial: {output} is written when the run has finished.")
    if checkpoint is not None and checkpoint.exists():
        print(f"Continue with the same command and --resume; the checkpoint is {checkpoint}.")
    if outcome.reason == "interrupted":
        raise KeyboardInterrupt


def print_next_steps(path: Path, vectors: Vectors) -> None:
    """What to type next, with a word that is neither the most frequent nor rare."""
    import numpy as np

    from inlaid.encode.subwords.spelling import plain

    ids = np.arange(len(vectors))
    if vectors.counts is not None:  # the ids of subwords are not in the order of their counts
        ids = np.argsort(-vectors.counts, kind="stable")[: max(np.count_nonzero(vectors.counts), 1)]
    middle = min(len(ids) // 10, 500)
    words = [plain(vectors.words[id]) for id in ids[middle : middle + 100].tolist()]
    word = next((each for each in words if each.isalpha() and each in vectors), vectors.words[int(ids[0])])
    shown = as_typed(f"./{path}" if str(path).startswith("-") else path)  # or it would be read as a flag
    print(f"\nNext:\n  inlaid neighbors {shown} {as_typed(word)}\n  inlaid doctor {shown}")


def _card_of(path: Path) -> Card | None:
    """The card of a native file; None if there is none."""
    from inlaid.formats import native

    try:
        return native.read(path).card
    except (InlaidError, OSError):
        return None


def _is_partial(card: Card) -> bool:
    return card.outcome is not None and not card.outcome.finished


def _identity(card: Card) -> dict[str, Any]:
    from inlaid.jobs.checkpoint import identity_of

    return identity_of(card.method, card.settings, card.corpus)
