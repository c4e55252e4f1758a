"""What is wrong with a space and what to do: checks of its rows, its geometry and its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from inlaid.encode.corpus import Corpus
from inlaid.messages import Listed, Message
from inlaid.report import Report, counted, silent
from inlaid.study.analysis import Row, analysis
from inlaid.study.doctor import broken_words, geometry_checks, row_checks, word_checks
from inlaid.study.doctor.findings import SEVERITIES, DoctorSettings, Finding, Severity, Space
from inlaid.vectors import Vectors

SHOWN_SEVERITIES: dict[str, tuple[Severity, ...]] = {
    "all": ("serious", "warning", "note"),
    "warnings": ("serious", "warning"),
    "serious": ("serious",),
}

SHOWN_AS: dict[Severity, Message] = {
    "serious": Message("serious"),
    "warning": Message("warning"),
    "note": Message("note"),
}


@dataclass(frozen=True)
class Diagnosis:
    """What was found, the most serious first, and how much was examined."""

    words: int
    dim: int
    sampled: int
    findings: tuple[Finding, ...]
    settings: DoctorSettings

    @property
    def serious(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity == "serious")

    @property
    def shown(self) -> tuple[Finding, ...]:
        """The findings that the settings ask for."""
        severities = SHOWN_SEVERITIES[self.settings.show]
        return tuple(each for each in self.findings if each.severity in severities)

    @property
    def verdict(self) -> Message:
        counts = [_count(name, sum(each.severity == name for each in self.findings)) for name in SEVERITIES]
        present = [each for each in counts if each is not None]
        if not present:
            return Message("Nothing found.")
        found = _listed(present)
        if self.serious:
            return Message("Found {found}.", found=found)
        return Message("Nothing serious: {found}.", found=found)

    def rows(self) -> list[Row]:
        summary = Message(
            "{words:,} words x {dim}. {verdict}", words=self.words, dim=self.dim, verdict=self.verdict
        )
        rows: list[Row] = [summary]
        for each in self.shown:
            examples = Message("")
            if each.examples:
                examples = Message(" Examples: {examples}.", examples=Listed(each.examples, "; "))
            finding = Message(
                "{severity}: {message}{examples}",
                severity=SHOWN_AS[each.severity],
                message=each.message,
                examples=examples,
            )
            rows += ["", finding, Message("  {advice}", advice=each.advice)]
        return rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "words": self.words,
            "dim": self.dim,
            "sampled": self.sampled,
            "seed": self.settings.seed,
            "findings": [each.to_dict() for each in self.shown],
            "verdict": str(self.verdict),
        }


@analysis
def doctor(
    vectors: Vectors,
    settings: DoctorSettings | None = None,
    *,
    corpus: Corpus | None = None,
    report: Report = silent,
) -> Diagnosis:
    """What is wrong with a space, and what to do about it.

    >>> str(doctor(vectors).verdict)
    'Nothing found.'

    Args:
        vectors: a file of vectors
        corpus: the folder of a corpus whose frequent words should have vectors

    Examples:
        inlaid doctor vectors.inlaid
        inlaid doctor vectors.inlaid --corpus text.corpus --json
    """
    settings = settings or DoctorSettings()
    space = Space(vectors, settings, report)
    space_checks = (*row_checks.CHECKS, *geometry_checks.CHECKS)
    checks: list[Callable[[], list[Finding]]] = [partial(check, space) for check in space_checks]
    checks += [partial(check, vectors) for check in (broken_words.broken, *word_checks.CHECKS)]
    if corpus is not None:
        checks.append(partial(word_checks.missing_in_corpus, vectors, corpus))
    found = list[Finding]()
    for check in counted(checks, "checking", unit="checks", report=report, every=1):
        found += check()
    found.sort(key=lambda each: SEVERITIES.index(each.severity))
    return Diagnosis(
        words=len(vectors),
        dim=vectors.dim,
        sampled=min(settings.sample, len(vectors)),
        findings=tuple(found),
        settings=settings,
    )


def _count(severity: Severity, count: int) -> Message | None:
    """How many findings of one severity; None for none."""
    if count == 0:
        return None
    if severity == "serious":
        return Message("{count} serious", count=count)
    if severity == "warning":
        return Message("1 warning") if count == 1 else Message("{count} warnings", count=count)
    return Message("1 note") if count == 1 else Message("{count} notes", count=count)


def _listed(items: list[Message]) -> Message:
    """One to three messages as a list."""
    if len(items) == 1:
        return items[0]
    if len(items) == 2:
        return Message("{first}, {second}", first=items[0], second=items[1])
    return Message("{first}, {second}, {third}", first=items[0], second=items[1], third=items[2])
