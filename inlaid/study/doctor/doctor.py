"""What is wrong with a space, how much of it, and what to do: one look at its rows, its shape and its
words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from inlaid.encode.corpus import Corpus
from inlaid.report import Report, counted, silent
from inlaid.study.doctor import row_checks, shape_checks, word_checks
from inlaid.study.doctor.findings import Examining, Finding, Patient
from inlaid.vectors import Vectors


@dataclass(frozen=True)
class Diagnosis:
    """What was found, the most serious first, and what it rests on."""

    words: int
    dim: int
    sampled: int
    seed: int
    findings: tuple[Finding, ...]

    @property
    def serious(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity == "serious")

    @property
    def verdict(self) -> str:
        found = {
            name: sum(each.severity == name for each in self.findings)
            for name in ("serious", "warning", "note")
        }
        said = ", ".join(
            f"{count} {PLURALS[name] if count > 1 else name}" for name, count in found.items() if count
        )
        return (
            "Nothing found."
            if not said
            else f"Nothing serious: {said}."
            if not self.serious
            else f"Found {said}."
        )


PLURALS = {"serious": "serious", "warning": "warnings", "note": "notes"}
RANKS = ("serious", "warning", "note")


def doctor(
    vectors: Vectors,
    *,
    corpus: Corpus | None = None,
    settings: Examining | None = None,
    report: Report = silent,
) -> Diagnosis:
    """Examine a space. With a corpus, words that are frequent there and missing here are named too.

    >>> doctor(vectors).verdict
    'Nothing found.'
    """
    settings = settings or Examining()
    patient = Patient(vectors, settings, report)
    checks: list[Callable[[], list[Finding]]] = [
        lambda check=check: check(patient) for check in (*row_checks.CHECKS, *shape_checks.CHECKS)
    ]
    checks += [lambda check=check: check(vectors) for check in word_checks.CHECKS]
    if corpus is not None:
        checks.append(lambda: word_checks.missing_in_corpus(vectors, corpus))
    found = [
        each
        for check in counted(checks, "examining", unit="checks", report=report, every=1)
        for each in check()
    ]
    found.sort(key=lambda each: RANKS.index(each.severity))
    return Diagnosis(
        len(vectors), vectors.dim, min(settings.sample, len(vectors)), settings.seed, tuple(found)
    )
