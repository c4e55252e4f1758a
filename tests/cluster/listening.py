"""Starts a cluster on this machine and prints where its processes listen."""

import json
import os
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from inlaid.cluster.ray_session import session

LISTEN = "0A"


def descendants(pid: int) -> set[int]:
    """A process and all that it started, directly or not."""
    parents = dict[int, int]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except FileNotFoundError:
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def sockets(pids: set[int]) -> set[str]:
    """The inodes of the sockets of some processes."""
    found = set[str]()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                found.add(os.readlink(link).removeprefix("socket:[").rstrip("]"))
            except FileNotFoundError:
                continue
    return found


def address_of(text: str) -> str:
    """An address of /proc/net/tcp: words of four bytes, each from its last byte to its first."""
    words = [bytes.fromhex(text[place : place + 8])[::-1] for place in range(0, len(text), 8)]
    address = ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def listening(pid: int) -> list[tuple[str, int]]:
    owned = sockets(descendants(pid))
    found = list[tuple[str, int]]()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            address, _, port = local.partition(":")
            if state == LISTEN and rest[5] in owned:
                found.append((address_of(address), int(port, 16)))
    return found


if __name__ == "__main__":
    with session("local", 1) as cluster:
        assert cluster.result(cluster.task(descendants)(os.getpid()))
        print(json.dumps(listening(os.getpid())))
