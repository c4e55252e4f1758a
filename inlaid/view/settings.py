"""Settings of the server, each with its range and its help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from inlaid.config import Positive, Range, check


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """How the server listens, and what it takes from clients."""

    host: str = "127.0.0.1"
    """The address to listen on; 0.0.0.0 is every network of this machine: then set keys and allow_host."""
    port: Annotated[int, Range(0, 65535)] = 8000
    """The port; 0 takes a free one."""
    allow_host: tuple[str, ...] = ()
    """More names by which clients may ask for this server (the header Host), such as embeddings.example."""
    allow_origin: tuple[str, ...] = ()
    """Web pages of these origins may ask, such as https://example.com; pages of this server always may."""
    keys: Path | None = None
    """A file with one API key a line; then every request needs one: Authorization: Bearer KEY."""
    workers: Positive = 1
    """Processes that share the port; each loads what is served."""
    max_body: Positive = 4 << 20
    """Bytes that a request may have."""
    max_texts: Positive = 2048
    """Texts, or words, that a request may have."""
    max_text: Positive = 100_000
    """Characters that a text may have."""
    max_requests: Positive = 1024
    """Requests that are worked on at the same time; others are refused with 429 and Retry-After."""
    timeout: Annotated[float, Range(0.1, 3600)] = 10.0
    """Seconds within which the header and the body of a request must have arrived."""
    window: Annotated[float, Range(0, 1000)] = 2.0
    """Milliseconds that a model waits for texts of other clients, to compute them together."""
    batch: Positive = 64
    """Texts of several clients that a model computes together."""
    threads: Positive = 4
    """Analyses that are worked on at the same time; searches and embeddings have as many threads of their
    own."""
    embedding: Literal["mean", "sif"] = "mean"
    """How a text of several words is embedded by word vectors: the mean of the vectors of its words, or
    weighted by frequency (sif)."""
    access_log: bool = True
    """Write a line of JSON to standard error for every request, without any text of it.
    `--no-access-log`: write none."""
    log_texts: bool = False
    """Write the beginning of the body of every request into the access log, too."""
    reload: Annotated[float, Range(0, 86400)] = 2.0
    """Seconds between looks at the files that are served: a file that has changed is loaded again, while the
    old one still answers. 0: never."""

    def __post_init__(self) -> None:
        check(self)
