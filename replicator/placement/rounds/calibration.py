"""Cost of bytes and records on this installation, measured on saturated carriers."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

from balancer.demand.load_model import Factors, LoadModel, NotFitted, Saturated
from replicator.mirror.offset_map.reports import PartitionReport

BEHIND_SECONDS = 5.0
"""A carrier is saturated if its partitions together lag by more than this at its own rate."""
WINDOWS_MAX = 200
"""Windows kept for each kind of batches; older ones are dropped."""
PURE = 0.05
"""A window counts for one kind of batches if at most this fraction is of the other kind."""


class Calibration:
    """Fit of the cost of carrying to windows of one route's carriers.

    A saturated carrier may spend its time waiting for a slow target. This time counts as well: a
    plan must not give a carrier more than it can deliver to that target.
    """

    def __init__(self) -> None:
        # The key True stands for opened batches.
        self._windows: dict[bool, deque[Saturated]] = {
            is_opened: deque(maxlen=WINDOWS_MAX) for is_opened in (False, True)
        }
        self._was_behind: frozenset[int] = frozenset()
        self._reported_at: dict[int, float] = {}
        self._observed_at: float | None = None

    def observe(self, reports: Iterable[PartitionReport], now: float) -> None:
        """Adds windows of carriers that were saturated now and at the last call.

        A carrier counts if it has reported again since the last call. That is asked of its own
        clock alone, which may be ahead of this process's or behind.

        Args:
            reports: of the route's carriers.
            now: monotonic time in seconds.
        """
        last, self._observed_at = self._observed_at, now
        if last is None or now <= last:
            return
        of_carrier: dict[int, list[PartitionReport]] = defaultdict(list)
        for report in reports:
            if report.parked is None:
                of_carrier[report.carrier].append(report)
        reported_at = {each: max(it.at for it in own) for each, own in of_carrier.items()}
        anew = {each for each, at in reported_at.items() if at != self._reported_at.get(each)}
        self._reported_at = reported_at
        behind = {each for each in anew if _is_behind(of_carrier[each])}
        for carrier in behind & self._was_behind:
            self._add(of_carrier[carrier], now - last)
        self._was_behind = frozenset(behind)

    def costs(self, default: LoadModel) -> LoadModel:
        """Returns the fitted cost of carrying.

        Args:
            default: gives the cost of a kind of batches whose windows do not determine a fit.
        """
        return LoadModel(self._fitted(False, default.unopened), self._fitted(True, default.opened))

    def _add(self, reports: list[PartitionReport], seconds: float) -> None:
        size = round(sum(report.bytes_per_second or 0.0 for report in reports) * seconds)
        records = round(sum(report.records_per_second or 0.0 for report in reports) * seconds)
        known = [report for report in reports if report.opened_part is not None]
        rate = sum(report.records_per_second or 0.0 for report in known)
        if size < 1 or records < 1 or not rate:
            return
        opened_rate = sum(
            (report.opened_part or 0.0) * (report.records_per_second or 0.0) for report in known
        )
        part = opened_rate / rate
        if min(part, 1 - part) <= PURE:
            self._windows[part > 0.5].append(Saturated(seconds, size, records))

    def _fitted(self, is_opened: bool, default: Factors) -> Factors:
        try:
            return Factors.fitted(list(self._windows[is_opened]))
        except NotFitted:
            return default


def _is_behind(reports: Iterable[PartitionReport]) -> bool:
    lag, rate = 0.0, 0.0
    for report in reports:
        lag += report.lag_records or 0
        rate += report.records_per_second or 0.0
    return rate > 0 and lag > rate * BEHIND_SECONDS
