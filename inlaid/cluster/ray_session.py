"""Ray: a connection to a cluster, or to one started here; tasks that are done again if they are lost."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from inlaid.errors import InlaidError, SettingError, SourceError, need

LOCAL = "local"
"""The address that stands for a cluster on this machine, started for one command."""
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
SECONDS_TO_CONNECT = 10


class Session:
    """A connection to Ray: runs functions on its machines."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    def task(self, work: Callable[..., Any], returns: int = 1) -> Callable[..., Any]:
        """A function that starts `work` on some machine and gives references to its results at once. It is
        started again wherever a machine is lost."""
        return self.ray.remote(num_returns=returns, max_retries=-1)(work).remote

    def share(self, value: Any) -> Any:
        """A reference to a value that every task may read."""
        return self.ray.put(value)

    def results(self, references: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The results of tasks as they are done, each with its number."""
        waiting = {reference: number for number, reference in enumerate(references)}
        while waiting:
            done, _ = self.ray.wait(list(waiting))
            for reference in done:
                yield waiting.pop(reference), self.result(reference)

    def result(self, reference: Any) -> Any:
        """The result of a task, when it is done; its error is raised as on this machine."""
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, InlaidError):
                raise error.cause from None
            raise


@contextmanager
def session(address: str, workers: int | None = None) -> Iterator[Session]:
    """Connect to the cluster at an address; "local" starts one on this machine, with `workers` cores or all,
    and ends it afterwards."""
    if workers is not None and address != LOCAL:
        raise SettingError(
            "workers is set, and the cluster '{address}' uses all its cores. Leave out workers.",
            address=address,
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address == LOCAL:
        # Ray reads it when it is imported: its processes on this machine then listen on 127.0.0.1 alone.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    ray = need("ray", extra="cluster")
    if ray.is_initialized():
        yield Session(ray)
        return
    try:
        if address == LOCAL:
            ray.init(address=LOCAL, num_cpus=workers or os.cpu_count(), include_dashboard=False, **QUIET)
        else:
            _reach(address)
            ray.init(address=address, **QUIET)
    except (OSError, ValueError, RuntimeError) as error:
        raise SourceError(
            "Cannot use the cluster '{address}': {reason}. Check the address, such as 10.0.0.1:6379; `local` "
            "starts a cluster on this machine.",
            address=address,
            reason=_reason(error),
        ) from None
    try:
        yield Session(ray)
    finally:
        ray.shutdown()


def _reason(error: Exception) -> str:
    """What the system or Ray says, in a line without a full stop."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return said.strip().split("\n")[0].rstrip(".")


def _reach(address: str) -> None:
    """Raise OSError where nothing listens at host:port; Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), SECONDS_TO_CONNECT).close()
