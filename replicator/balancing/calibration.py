"""What bytes and records cost here, read off carriers that had more to carry than they could."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping

from balancer.demand.load_model import Factors, NotFitted, Saturated
from replicator.offsets.reports import PartitionReport

BEHIND_SECONDS = 5.0
"""A carrier whose partitions are together so far behind, by its own rate, has no time left."""
REPORT_SECONDS = 5.0
WINDOWS_MAX = 200
"""Of each kind; older ones are forgotten."""
PURE = 0.05
"""A carrier's windows count for a kind of batches where no more than this part is of the other."""


class Calibration:
    """Collects windows of one route's carriers, and fits what carrying costs.

    What keeps a carrier from carrying more need not be its own work: a slow target counts as well,
    for a carrier cannot be planned for more than it gets through there.
    """

    def __init__(self) -> None:
        self._windows: dict[bool, deque[Saturated]] = {
            is_opened: deque(maxlen=WINDOWS_MAX) for is_opened in (False, True)
        }
        self._was_behind: frozenset[int] = frozenset()

    def observe(self, reports: Iterable[PartitionReport], now: float, seconds: float) -> None:
        """What carriers report.

        Args:
            now: unix seconds.
            seconds: since the last look; a carrier counts that was behind then already.
        """
        of_carrier: dict[int, list[PartitionReport]] = defaultdict(list)
        for report in reports:
            if now - report.at < REPORT_SECONDS and report.parked is None:
                of_carrier[report.carrier].append(report)
        behind = {carrier for carrier, some in of_carrier.items() if _is_behind(some)}
        for carrier in behind & self._was_behind:
            self._add(of_carrier[carrier], seconds)
        self._was_behind = frozenset(behind)

    def factors(self, unopened: Factors, opened: Factors) -> tuple[Factors, Factors]:
        """Of batches that are carried as they are, and of those that are opened: fitted, or where
        the windows do not tell, those given."""
        return self._fitted(False, unopened), self._fitted(True, opened)

    @property
    def windows(self) -> Mapping[bool, int]:
        """How many there are; True: of batches that were opened."""
        return {is_opened: len(some) for is_opened, some in self._windows.items()}

    def _add(self, reports: list[PartitionReport], seconds: float) -> None:
        size = round(sum(report.bytes_per_second or 0.0 for report in reports) * seconds)
        records = round(sum(report.records_per_second or 0.0 for report in reports) * seconds)
        known = [report for report in reports if report.opened_part is not None]
        flows = sum(report.records_per_second or 0.0 for report in known)
        if size < 1 or records < 1 or not flows:
            return
        weighed = sum(
            (report.opened_part or 0.0) * (report.records_per_second or 0.0) for report in known
        )
        part = weighed / flows
        if min(part, 1 - part) <= PURE:
            self._windows[part > 0.5].append(Saturated(seconds, size, records))

    def _fitted(self, is_opened: bool, otherwise: Factors) -> Factors:
        try:
            return Factors.fitted(list(self._windows[is_opened]))
        except NotFitted:
            return otherwise


def _is_behind(reports: Iterable[PartitionReport]) -> bool:
    lag, rate = 0.0, 0.0
    for report in reports:
        lag += report.lag_records or 0
        rate += report.records_per_second or 0.0
    return rate > 0 and lag > rate * BEHIND_SECONDS
