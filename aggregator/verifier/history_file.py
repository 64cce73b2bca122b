"""History file of one cluster: positions and last entries, kept over restarts of the verifier.

Kafka is the truth. Without the file `__consumer_offsets` is read from its beginning, and what
compaction removed is unknown.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aggregator.verifier.cluster_judge import Stored
from replicator.config.cluster_name import ClusterName
from replicator.kafka.protocol.commit_record import Commit
from replicator.kafka.tail.tail_position import TailPosition, Version
from replicator.runtime.private_files import private_folder, write_private

logger = logging.getLogger(__name__)

FORMAT = 1
Positions = dict[int, TailPosition]


class HistoryFile:
    """File of one cluster in the folder of a region's verifier.

    Args:
        state_dir: of the region's daemons.
    """

    def __init__(self, state_dir: Path, region: str, cluster: ClusterName) -> None:
        folder = state_dir / "verifier" / region
        self.path = folder / f"{cluster.region}.{cluster.role}.json"
        self._written = ""

    def read(self) -> tuple[Positions, list[Stored]]:
        """Returns what was kept; nothing if the file is not there or cannot be read.

        Raises:
            FolderShared, OSError: the folder cannot be made, or others may write to it.
        """
        private_folder(self.path.parent)
        try:
            kept = _unpacked(json.loads(self.path.read_text()))
        except FileNotFoundError:
            return {}, []
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            logger.warning(
                "event=history-unreadable %s: %s; __consumer_offsets is read from its beginning",
                self.path,
                error,
            )
            return {}, []
        return kept

    def write(self, positions: Mapping[int, TailPosition], stored: list[Stored]) -> None:
        """Replaces the file, unless nothing has changed. Raises OSError."""
        text = json.dumps(_packed(positions, stored), separators=(",", ":"))
        if text != self._written:
            write_private(self.path, text.encode())
            self._written = text


def _packed(positions: Mapping[int, TailPosition], stored: list[Stored]) -> dict[str, Any]:
    return {
        "v": FORMAT,
        "positions": {str(number): position for number, position in positions.items()},
        "entries": [
            [
                *(each.group, each.topic, each.partition, each.log, each.version),
                *(each.gap_at, each.accepted_at),
                each.commit
                and [
                    each.commit.offset,
                    each.commit.metadata,
                    each.commit.at_ms,
                    each.commit.leader_epoch,
                ],
            ]
            for each in stored
        ],
    }


def _unpacked(kept: Any) -> tuple[Positions, list[Stored]]:
    """Raises ValueError, KeyError, TypeError or AttributeError."""
    if kept["v"] != FORMAT:
        raise ValueError(f"format {kept['v']}")
    positions = {int(n): TailPosition(*position) for n, position in kept["positions"].items()}
    stored = [
        Stored(
            group,
            topic,
            partition,
            log,
            Version(*version),
            Commit(*commit) if commit else None,
            gap_at,
            accepted_at,
        )
        for group, topic, partition, log, version, gap_at, accepted_at, commit in kept["entries"]
    ]
    return positions, stored
