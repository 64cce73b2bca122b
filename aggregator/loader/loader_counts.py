"""Counts of one loader since its epoch began, over all of its sessions."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from types import MappingProxyType

from aggregator.loader.counters import (
    COMMIT_FAILURES,
    COMMIT_REASONS,
    LOSS_KINDS,
    LOSSES,
    OF_LOADER,
    OF_PARTITION,
    OF_TABLE,
    RESTART_REASONS,
    RESTARTS,
    LoaderCounter,
    kind_label,
)
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import LossKind

DIGITS = 6
"""Digits of a fraction of a second that are worth their bytes."""

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoaderTotals:
    """Counts of a loader: by the counter's name, and by its labels.

    A counter that is not there is unknown, not 0: another version may have written the totals.
    """

    feed: str
    cluster: str
    counts: Mapping[str, Mapping[Labels, float]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def to_json(self) -> str:
        """Returns the totals as compact JSON."""
        counts = {
            name: [[*labels, round(value, DIGITS)] for labels, value in values.items()]
            for name, values in self.counts.items()
        }
        return json.dumps([self.feed, self.cluster, counts], separators=(",", ":"))

    @staticmethod
    def from_json(text: str | bytes) -> LoaderTotals:
        """Parses totals. Raises ValueError."""
        try:
            feed, cluster, counts = json.loads(text)
            found = {
                name: {tuple(map(str, labels)): float(value) for *labels, value in rows}
                for name, rows in counts.items()
            }
        except (TypeError, AttributeError) as error:
            raise ValueError(f"a loader's totals of another form: {error}") from error
        return LoaderTotals(str(feed), str(cluster), found)


class LoaderCounts:
    """Counts of a loader; they never decrease.

    What a loader can count is shown as 0 from the beginning: an alert on an increase does not see
    the first value of a series.
    """

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex
        """Unique id of this epoch's loader; its successor under the same number has another."""
        self._counts: dict[LoaderCounter, dict[Labels, float]] = {}
        # Requests to a store are counted in the threads that make them.
        self._lock = Lock()
        self.show(OF_LOADER)
        for reason in COMMIT_REASONS:
            self.show([COMMIT_FAILURES], reason)
        for reason in RESTART_REASONS:
            self.show([RESTARTS], reason)
        for kind in LOSS_KINDS:
            self.show([LOSSES], kind_label(kind))

    def show_partition(self, place: TopicPartition) -> None:
        """Shows the counters of a partition from here on."""
        self.show(OF_PARTITION, place.topic, str(place.partition))

    def show_table(self, topic: str, table: str) -> None:
        """Shows the counters of a table from here on."""
        self.show(OF_TABLE, topic, table)

    def add(self, counter: LoaderCounter, *labels: str, amount: float = 1) -> None:
        """Counts something."""
        with self._lock:
            values = self._counts.setdefault(counter, {})
            values[labels] = values.get(labels, 0) + amount

    def add_of(self, place: TopicPartition, counter: LoaderCounter, amount: float = 1) -> None:
        """Counts something of a partition."""
        self.add(counter, place.topic, str(place.partition), amount=amount)

    def lost(self, kind: LossKind) -> None:
        """Counts a partition that is parked."""
        self.add(LOSSES, kind_label(kind))

    def value(self, counter: LoaderCounter, *labels: str) -> float:
        """Returns a count; 0 if nothing was counted."""
        return self._counts.get(counter, {}).get(labels, 0)

    def by_label(self, counter: LoaderCounter, label: str) -> Counter[str]:
        """Returns the counts of a counter, summed up by one of its labels."""
        at = counter.labels.index(label)
        sums: Counter[str] = Counter()
        for labels, value in self._counts.get(counter, {}).items():
            sums[labels[at]] += int(value)
        return sums

    def totals(self, feed: str, cluster: str) -> LoaderTotals:
        """Returns the counts of now."""
        with self._lock:
            counts = {counter.name: dict(values) for counter, values in self._counts.items()}
        return LoaderTotals(feed, cluster, counts)

    def show(self, counters: Iterable[LoaderCounter], *labels: str) -> None:
        """Shows counters from here on."""
        with self._lock:
            for counter in counters:
                self._counts.setdefault(counter, {}).setdefault(labels, 0)
