"""Cuts the end off a broker's log, as a broken disk or an unclean election does.

The broker must be dead (KafkaCluster.kill) while its files are cut.
"""

from __future__ import annotations

from pathlib import Path

from deploy.lab.kafka import KafkaCluster
from replicator.batches.batch import scan

CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    ".kafka_cleanshutdown",
)


def cut_log(cluster: KafkaCluster, topic: str, end: int, *, node: int = 1) -> None:
    """Keeps only the batches that lie wholly before offset `end`, in a log of one segment."""
    data = cluster.directory / f"node-{node}" / "data"
    for name in CHECKPOINTS:
        (data / name).unlink(missing_ok=True)
    folder = data / f"{topic}-0"
    (segment,) = folder.glob("*.log")
    kept = 0
    for view, header in scan(segment.read_bytes()):
        if header.next_offset > end:
            break
        kept += len(view)
    with segment.open("r+b") as log:
        log.truncate(kept)
    for path in folder.iterdir():
        _drop_what_the_log_can_rebuild(path)


def _drop_what_the_log_can_rebuild(path: Path) -> None:
    if path.suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
        path.unlink()
