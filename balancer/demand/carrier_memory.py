"""What a carrier takes of memory, and how many partitions it may have within so much.

What the process is and what it may hold at most, whatever it carries: batches that are fetched and
not yet acknowledged, and runs that Redis does not take. That is bounded by constants, not by rates:
any carrier that is behind holds as much, and each of them is behind once, after a loss of its
target. On top of it comes a little for each partition. All of it was measured (bench/README.md).
"""

from __future__ import annotations

MIB = 1 << 20
PROCESS_BYTES = 192 * MIB
"""Python with all it has loaded. Carriers that share a Spark task share it; each is counted for
itself."""
HELD_BYTES = 448 * MIB
"""Fetched batches. A carrier has 192 MiB of them at most, and 64 MiB of answers under way
(replicator/carrier/reader.py). But what one fetch brought of a partition stays until the last of it
is acknowledged: so it was up to 375 MiB. TLS took 55 more."""
RUNS_BYTES = 84 * MIB
"""Runs that wait for a Redis which is away."""
PARTITION_BYTES = 20 << 10
"""What it knows of one, and the requests and reports about it: 14 to 18 KB."""


def carrier_bytes(partitions: int) -> int:
    """What a carrier of so many partitions takes at most."""
    return PROCESS_BYTES + HELD_BYTES + RUNS_BYTES + partitions * PARTITION_BYTES


def partitions_within(bytes_max: int) -> int:
    """The most that a carrier may have to take no more; 0: not even one."""
    return max(0, bytes_max - carrier_bytes(0)) // PARTITION_BYTES
