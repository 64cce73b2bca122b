"""Reports of a carrier on its partitions while it carries: rates and lag, for people."""

import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """State of one partition of one route, as its carrier saw it. None = not known, never 0.

    Args:
        at: when the carrier saw it, in unix seconds.
        opened_part: part of the sent data that had to be opened and packed anew, 0 to 1.
        source_high: the source's high watermark; records of open transactions are below it.
        written_lag_records, written_lag_seconds: the lag against the high watermark.
        open_transaction_seconds: how long records have waited for the end of a transaction.
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


FIELDS = len(fields(PartitionReport))
"""Number of known fields. A later Sluice may write more; the known ones come first."""


def packed(reports: Iterable[PartitionReport]) -> str:
    """Returns one carrier's reports as JSON."""
    return json.dumps([astuple(report) for report in reports], separators=(",", ":"))


def unpacked(text: str | bytes) -> list[PartitionReport]:
    """Returns the reports of one carrier; raises ValueError when they have another form."""
    try:
        return [PartitionReport(*row[:FIELDS]) for row in json.loads(text)]
    except TypeError as error:
        raise ValueError(f"reports of another form: {error}") from error


def latest(reports: Iterable[PartitionReport]) -> dict[tuple[str, str, int], PartitionReport]:
    """Returns (route, topic, partition) -> newest report: after a move two carriers report one."""
    newest: dict[tuple[str, str, int], PartitionReport] = {}
    for report in reports:
        key = report.route, report.topic, report.partition
        if key not in newest or newest[key].at < report.at:
            newest[key] = report
    return newest
