"""START HERE: the whole way from text to vectors.

    text --encode--> Corpus --method.start--> Training --run--> Vectors --format.write--> file

`collect` and `encode` turn text into a Corpus of ids; a method from `fit`, chosen by name, turns the corpus
into Vectors; `formats` keep them; `study` asks them questions.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from inlaid import places
from inlaid.collect import world
from inlaid.collect.sources import Text, places_of
from inlaid.config import settings_of, with_values
from inlaid.encode.corpus import Corpus, Encoding, encode, is_corpus, open_corpus
from inlaid.encode.inputs import check_not_encoded, places_read
from inlaid.encode.joining import joins_of, write_phrases
from inlaid.errors import SettingError
from inlaid.formats.recognition import refuse_vectors
from inlaid.jobs.arguments import default_encoding, job_for
from inlaid.jobs.paired_text import as_sentences, check_pairs
from inlaid.jobs.plan import Plan, announce_plan, plan_for
from inlaid.jobs.safety import Safety
from inlaid.jobs.training import EncodesPairs, Method
from inlaid.progress import shows_progress
from inlaid.report import Report, automatic, silent
from inlaid.vectors import Vectors


@shows_progress
def train(
    text: Text | Corpus,
    method: str | Method = "ppmi",
    *,
    encoding: Encoding | None = None,
    safety: Safety | None = None,
    init_from: Vectors | str | Path | None = None,
    freeze: bool = False,
    report: Report = automatic,
    **settings: Any,
) -> Any:
    """Learn vectors or a model from text, or from a corpus encoded earlier, with a method and its settings.

    The method is a name with settings beside it, or a settings object. `safety` is how a long run is kept
    safe: checkpoints, early stopping, a limit of time. `init_from` are earlier vectors to continue from:
    their words keep their ids, new words follow; with `freeze` the earlier vectors do not change. A network
    starts from the folder of a model, or its token vectors from a file of vectors.

    >>> vectors = train("text.txt", "ppmi", window=3, min_count=2)
    >>> vectors = train("text.txt", SGNS(dim=300), min_count=2)
    """
    job, encoding = job_for(text, method, encoding, safety, init_from, freeze, settings)
    places.check_distinct({"checkpoint": job.safety.checkpoint}, places_read(text, encoding))
    job.check()
    read: Any = as_sentences(text, job.method, encoding, report)
    announce_plan(read, job.method, encoding, report)
    if isinstance(job.method, EncodesPairs) and isinstance(read, list):
        encoded = job.method.encode_pairs(read, encoding or default_encoding(type(job.method)), report)
    else:
        encoded = read if isinstance(read, Corpus) else corpus(read, encoding=encoding, report=report)
    check_pairs(encoded, read, job.method)
    return job.learn_from(encoded, report)


def plan(
    text: Text | Corpus, method: str | Method = "ppmi", *, encoding: Encoding | None = None, **settings: Any
) -> Plan:
    """The time and memory of `train` with the same arguments, from a trial on a sample of the text."""
    job, encoding = job_for(text, method, encoding, None, None, False, settings)
    if not isinstance(text, Corpus):
        refuse_vectors(places_of(text))
    text = as_sentences(text, job.method, encoding, silent)
    return plan_for(text, job.method, encoding)


@shows_progress
def corpus(
    text: Text,
    out: str | Path | None = None,
    *,
    encoding: Encoding | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    report: Report = automatic,
    **settings: Any,
) -> Corpus:
    """Encode text once, for all methods; with `out`, into a folder. The path of such a folder opens it.

    With `cluster`, the address of a Ray cluster or "local", its machines encode the text into shards.
    """
    check_not_encoded(text, encoding, settings, out)
    if isinstance(text, (str, Path)) and is_corpus(Path(text)):
        return open_corpus(Path(text))
    refuse_vectors(places_of(text))
    chosen = with_values(encoding or Encoding(), settings)
    if out is None:
        if cluster is not None:
            raise SettingError("A cluster writes shards into a folder, and out is not set. Set out.")
        return encode(text, chosen, report, workers=workers)
    with places.claimed(Path(out), reads=places_read(text, chosen), folder=True):
        if cluster is not None:
            from inlaid.cluster.encoding import encode_on_cluster  # imports the kernels

            return encode_on_cluster(text, chosen, cluster, Path(out), report, workers=workers)
        return encode(text, chosen, report, workers=workers, out=Path(out))


@shows_progress
def phrases(
    text: Corpus | str | Path,
    out: str | Path | None = None,
    *,
    save: str | Path | None = None,
    overwrite: bool = False,
    report: Report = automatic,
    **settings: Any,
) -> Corpus:
    """A corpus whose collocations are joined into one word ("new york" becomes "new_york"); with `out`, into
    a folder. With `save`, the phrases are saved for other texts: `corpus(text, phrases=FILE)`."""
    from inlaid.encode.phrases import Phrases, join  # it imports the kernels

    chosen = settings_of(Phrases, settings)
    read = text if isinstance(text, Corpus) else open_corpus(Path(text))
    reads = [] if isinstance(text, Corpus) else [Path(text)]
    with contextlib.ExitStack() as held:
        if save is not None:
            held.enter_context(places.claimed(Path(save), reads=reads, overwrite=overwrite))
        if out is not None:
            others = {"phrases": None if save is None else Path(save)}
            held.enter_context(places.claimed(Path(out), reads=reads, others=others, folder=True))
        joined = join(read, chosen, report)
        if save is not None:
            write_phrases(Path(save), joins_of(joined.manifest["encoding"]))
        if out is not None:
            joined.save(Path(out))
    return joined


@shows_progress
def demo(*, words: int = 300_000, seed: int = 1, report: Report = automatic) -> dict[world.Language, Vectors]:
    """Vectors of the embedded world, one space for each language."""
    return {
        "zh": train(
            world.sentences("zh", words=words, seed=seed),
            "ppmi",
            dim=150,  # the SVD drops relations of the world below
            dictionary=world.dictionary(),
            force_dictionary=True,
            seed=seed,
            report=report,
        ),
        "en": train(world.sentences("en", words=words, seed=seed), "ppmi", dim=150, seed=seed, report=report),
    }
