"""Memory of a carrier, and the number of partitions that fit within a memory limit.

A carrier takes a fixed part: its process, fetched batches that are not acknowledged, and runs that
Redis does not accept. Constants bound this part, not rates: any carrier that is behind holds as
much, and each carrier is behind once, after a loss of its target. Each partition adds a little.
All numbers were measured (bench/README.md).
"""

from __future__ import annotations

MIB = 1 << 20
PROCESS_BYTES = 192 * MIB
"""Python with all loaded modules. Carriers that share a Spark task share it, but each carrier is
charged for all of it."""
HELD_BYTES = 448 * MIB
"""Fetched batches. A carrier holds at most 192 MiB of them, and 64 MiB of fetch responses in flight
(mirror/carrier/reader.py). But the part of a partition in one fetch response stays in memory
until its last batch is acknowledged, so up to 375 MiB were measured. TLS took 55 MB more."""
RUNS_BYTES = 84 * MIB
"""Runs that wait while Redis is unreachable."""
PARTITION_BYTES = 20 << 10
"""State of one partition, with the requests and reports about it; 14 to 18 KB were measured."""


def carrier_bytes(partitions: int) -> int:
    """Returns the most memory that a carrier of so many partitions takes, in bytes."""
    return PROCESS_BYTES + HELD_BYTES + RUNS_BYTES + partitions * PARTITION_BYTES


def partitions_within(bytes_max: int) -> int:
    """Returns the most partitions that a carrier may have within so many bytes; 0 for none."""
    return max(0, bytes_max - carrier_bytes(0)) // PARTITION_BYTES
