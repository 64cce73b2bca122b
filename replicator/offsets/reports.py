"""What a carrier says about its partitions while it carries: rates and lag, for people."""

import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """One partition of one route, as its carrier saw it at a time. None = not known, never 0.

    Args:
        opened_part: of what is sent, how much had to be opened and packed anew, 0 to 1.
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


def packed(reports: Iterable[PartitionReport]) -> str:
    """One carrier's reports as JSON."""
    return json.dumps([astuple(report) for report in reports], separators=(",", ":"))


def unpacked(text: str | bytes) -> list[PartitionReport]:
    """The reports of one carrier; raises ValueError on what another Sluice wrote."""
    try:
        return [PartitionReport(*fields) for fields in json.loads(text)]
    except TypeError as error:
        raise ValueError(f"reports of another form: {error}") from error


def latest(reports: Iterable[PartitionReport]) -> dict[tuple[str, str, int], PartitionReport]:
    """(route, topic, partition) -> its newest report: after a move two carriers report it."""
    newest: dict[tuple[str, str, int], PartitionReport] = {}
    for report in reports:
        place = report.route, report.topic, report.partition
        if place not in newest or newest[place].at < report.at:
            newest[place] = report
    return newest
