"""Verdict on an application: records acknowledged to producers, compared with records handled."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deploy.lab.compare import RecordsDiffer
from deploy.lab.numbered_load import Numbered

EXAMPLES_MAX = 5


@dataclass(frozen=True, slots=True)
class Audit:
    """Counts of records.

    Args:
        missed: acknowledged, and never handled.
        twice: number of times that records were handled beyond their first time.
        reordered: handled for the first time after a later record of the same producer, partition
            and regional cluster.
        unacknowledged: handled, but not acknowledged to a producer. Such a record may be in a
            second region's log as well.
    """

    acknowledged: int
    handled: int
    missed: int
    twice: int
    reordered: int
    unacknowledged: int
    examples: tuple[str, ...] = ()

    @property
    def is_exactly_once(self) -> bool:
        return not (self.missed or self.twice or self.reordered)

    def assert_exactly_once(self) -> None:
        """Raises RecordsDiffer if is_exactly_once is false."""
        if not self.is_exactly_once:
            raise RecordsDiffer(str(self))

    def assert_complete(self) -> None:
        """Raises RecordsDiffer if is_complete is false."""
        if not self.is_complete:
            raise RecordsDiffer(str(self))

    @property
    def is_complete(self) -> bool:
        """True if nothing is missed or reordered; some records may have been handled twice."""
        return not (self.missed or self.reordered)


def audited(acknowledged: Iterable[Numbered], handled: Sequence[Numbered]) -> Audit:
    """Returns the verdict. `handled` has the order of handling."""
    owed = set(acknowledged)
    times = Counter(handled)
    missed = sorted(owed - times.keys())
    twice = sorted(record for record, count in times.items() if count > 1)
    reordered = _reordered(handled)
    return Audit(
        acknowledged=len(owed),
        handled=len(handled),
        missed=len(missed),
        twice=len(handled) - len(times),
        reordered=len(reordered),
        unacknowledged=len(times.keys() - owed),
        examples=(
            *(f"missed: {record}" for record in missed[:EXAMPLES_MAX]),
            *(f"twice: {record}" for record in twice[:EXAMPLES_MAX]),
            *(f"reordered: {record}" for record in reordered[:EXAMPLES_MAX]),
        ),
    )


def behind_the_move(handled: Sequence[Numbered]) -> int:
    """Counts the records handled for the first time after a later one of their producer and
    partition.

    Unlike `Audit.reordered` it ignores the regional clusters that the two were sent to, so it
    counts records that a lost cluster held back.
    """
    greatest: dict[tuple[str, int], int] = defaultdict(lambda: -1)
    late: set[Numbered] = set()
    for record in dict.fromkeys(handled):
        stream = record.producer, record.partition
        if record.number < greatest[stream]:
            late.add(record)
        greatest[stream] = max(greatest[stream], record.number)
    return len(late)


def _reordered(handled: Sequence[Numbered]) -> list[Numbered]:
    greatest: dict[tuple[str, int, str], int] = defaultdict(lambda: -1)
    late: list[Numbered] = []
    # Repetitions are no disorder: only the first time that a record was handled counts.
    for record in dict.fromkeys(handled):
        stream = record.producer, record.partition, record.region
        if record.number < greatest[stream]:
            late.append(record)
        greatest[stream] = max(greatest[stream], record.number)
    return late
