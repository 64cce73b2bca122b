"""Reports of a carrier on its partitions while it carries: rates and lag, for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

VERSION = 2


@dataclass(slots=True)
class PartitionReport:
    """State of one partition of one route, as its carrier saw it. None = not known, never 0.

    It is not frozen, and nobody changes one: thousands are made each second, and 10 000 take 2 ms,
    frozen 17 ms.

    Args:
        at: when the carrier saw it, in unix seconds.
        opened_part: part of the sent data that had to be opened and packed anew, 0 to 1.
        source_high: the source's high watermark; records of open transactions are below it.
        written_lag_records, written_lag_seconds: the lag against the high watermark.
        open_transaction_seconds: how long records have waited for the end of a transaction.
        host, pid: of the process in which the carrier runs.
    """

    route: str
    topic: str
    partition: int
    carrier: int
    records_per_second: float | None
    bytes_per_second: float | None
    source_end: int | None
    mirrored_to: int | None
    lag_records: int | None
    lag_seconds: float | None
    parked: str | None
    at: float
    opened_part: float | None = None
    source_high: int | None = None
    written_lag_records: int | None = None
    written_lag_seconds: float | None = None
    open_transaction_seconds: float | None = None
    host: str | None = None
    pid: int | None = None


NAMES = tuple(each.name for each in fields(PartitionReport))
OF_PROCESS = ("host", "pid")
"""Fields that all reports of a carrier share; they are written once."""
OF_PARTITION = NAMES[: -len(OF_PROCESS)]
REQUIRED = NAMES[: NAMES.index("opened_part")]
"""Fields that every version has."""


def packed(reports: Iterable[PartitionReport], host: str | None = None, pid: int = 0) -> str:
    """Returns one carrier's reports as JSON.

    Args:
        host, pid: of the carrier's process; pid 0: not known.
    """
    rows = [[getattr(report, name) for name in OF_PARTITION] for report in reports]
    shared = {"version": VERSION, "host": host, "pid": pid or None}
    return json.dumps({**shared, "fields": OF_PARTITION, "rows": rows}, separators=(",", ":"))


def unpacked(text: str | bytes) -> list[PartitionReport]:
    """Returns the reports of one carrier.

    Fields that this version does not know are left out, and those that the carrier did not know
    are None: versions differ while hosts are upgraded one after another.

    Raises:
        ValueError: the text has another form, or lacks a field.
    """
    found: Any = json.loads(text)
    try:
        rows = _known(found["fields"], found["rows"])
        process = [found.get(name) for name in OF_PROCESS]
        return [PartitionReport(*row, *process) for row in rows]
    except (TypeError, KeyError, IndexError) as error:
        raise ValueError(f"reports of another form: {error}") from error


def _known(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterable[Sequence[Any]]:
    """Returns rows with the fields of this version in their order.

    Raises KeyError or IndexError for those of another form.
    """
    if any(len(row) != len(names) for row in rows):
        raise IndexError(f"a row without {len(names)} fields")
    if tuple(names) == OF_PARTITION:
        return rows
    for name in REQUIRED:
        if name not in names:
            raise KeyError(name)
    places = [names.index(name) if name in names else None for name in OF_PARTITION]
    return ([None if at is None else row[at] for at in places] for row in rows)


def latest(reports: Iterable[PartitionReport]) -> dict[tuple[str, str, int], PartitionReport]:
    """Returns (route, topic, partition) -> newest report: after a move two carriers report one.

    Args:
        reports: in the order in which they were written; times of two carriers are of two clocks.
    """
    return {(each.route, each.topic, each.partition): each for each in reports}
