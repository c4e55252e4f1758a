"""Encodes a text on a cluster of two nodes, of which one is killed on the way. Prints what became of it.

python two_nodes.py TEXT OUTPUT
"""

import json
import sys
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from inlaid.cluster import encoding
from inlaid.collect import sources, text_pieces
from inlaid.encode.corpus import Encoding
from inlaid.report import Progress

PIECE = 1 << 22


def main(text: Path, out: Path) -> None:
    assert PIECE == sources.BLOCK == text_pieces.BLOCK
    options = {"node_ip_address": "127.0.0.1", "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **options})
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    nodes = [len(cluster.list_all_nodes())]
    killed = list[int]()

    def kill_once(event: object) -> None:
        """After the first piece: its counts, or those of the next one, are lost with the node."""
        if isinstance(event, Progress) and event.stage == "reading" and event.done and not killed:
            killed.append(event.done)
            cluster.remove_node(second, allow_graceful=False)
            nodes.append(len(cluster.list_all_nodes()))

    made = encoding.encode_on_cluster(text, Encoding(), cluster.address, out, kill_once, piece=PIECE)
    ray.shutdown()
    cluster.shutdown()
    print(json.dumps({"hash": made.manifest["hash"], "shards": len(made.shards), "nodes": nodes}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
