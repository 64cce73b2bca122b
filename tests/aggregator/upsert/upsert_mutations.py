"""Rules of upsert tables, each left out by itself: the model must notice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

from aggregator.upsert.fold import Folded
from aggregator.upsert.mark import Level
from aggregator.upsert.recovery import Found, Recovery, StateAction
from aggregator.upsert.settling import OpenRows
from aggregator.upsert.tick import ROW_BITS, LaneRange, Tick, tick_of
from aggregator.upsert.tick_cut import Cut, Logs
from aggregator.upsert.version import Version
from aggregator.upsert.visibility import ReplicaCount, remembered_since_s
from replicator.kafka.client.loss import Loss
from tests.aggregator.upsert.upsert_rules import RETENTION_HOURS, Rules, States
from tests.aggregator.upsert.upsert_store import Server, StoredRow

SETTLED = MappingProxyType(
    {"settle": 15, "replicate": 15, "coordinate": 15, "raise_horizon": 3, "drop": 3}
)
"""Weights under which settle points and horizons are published often."""


class Mutation(Rules):
    """A rule that is left out.

    Args:
        examples: histories within which the model notices.
        often: weights of actions that make the case less rare.
    """

    examples: ClassVar[int] = 20
    is_away: ClassVar[bool] = False
    """The model notices once a server was away beyond the horizon."""
    often: ClassVar[Mapping[str, float]] = MappingProxyType({})


class RowsBeforeTheIntent(Mutation):
    rows_behind_the_intent = False


class RedoTakesWhatIsThereByNow(Mutation):
    def redone(self, intent: Tick, ends: Sequence[int]) -> Tick:
        pairs = zip(intent.ranges, ends, strict=True)
        return replace(intent, ranges=tuple(LaneRange(begin, end) for (begin, _), end in pairs))


class ClaimBeforeTheEnds(Mutation):
    order = ("rows", "claim", "ends")


class ClaimBeforeTheRows(Mutation):
    order = ("claim", "rows", "ends")


class ValidFromBelowTheMark(Mutation):
    """The seed's predicate: validFrom < mark."""

    def is_visible(self, row_id: int, until: int, mark: int, ended: set[int]) -> bool:
        return row_id < mark << ROW_BITS and until > mark and row_id not in ended


class NoBoundOnRows(Mutation):
    def is_visible(self, row_id: int, until: int, mark: int, ended: set[int]) -> bool:
        return until > mark and row_id not in ended


class UntilAtTheMark(Mutation):
    def is_visible(self, row_id: int, until: int, mark: int, ended: set[int]) -> bool:
        return tick_of(row_id) <= mark <= until and row_id not in ended


class NoUpperBoundOnEnds(Mutation):
    def is_behind(self, tick: int, settled: int, mark: int) -> bool:
        return tick > settled


class EndsUpToTheMarkAreLeftToSettling(Mutation):
    def is_behind(self, tick: int, settled: int, mark: int) -> bool:
        return False


class SettlePointBehindTheMark(Mutation):
    often = SETTLED

    def settled_at(self, mark: int, points: Iterable[int]) -> int:
        return max(points, default=0)


class EndNamesTheNewRow(Mutation):
    """The seed's getDeleteEvent(newEvent)."""

    def fold(
        self, tick: int, rows: Iterable[tuple[bytes, Version]], states: States, since_s: int
    ) -> Folded:
        found = super().fold(tick, rows, states, since_s)
        return Folded(found.states, [it._replace(row_id=it.by_row_id) for it in found.ends])


class RunnerUpForgotten(Mutation):
    def fold(
        self, tick: int, rows: Iterable[tuple[bytes, Version]], states: States, since_s: int
    ) -> Folded:
        found = super().fold(tick, rows, states, since_s)
        return Folded(found.states, [it for it in found.ends if tick_of(it.row_id) == tick])


class LateRowsLive(Mutation):
    def fold(
        self, tick: int, rows: Iterable[tuple[bytes, Version]], states: States, since_s: int
    ) -> Folded:
        found = super().fold(tick, rows, states, since_s)
        return Folded(found.states, [it for it in found.ends if it.kind != "late"])


class LosersOfATickLive(Mutation):
    def fold(
        self, tick: int, rows: Iterable[tuple[bytes, Version]], states: States, since_s: int
    ) -> Folded:
        found = super().fold(tick, rows, states, since_s)
        ends = [it for it in found.ends if it.kind == "late" or tick_of(it.row_id) < tick]
        return Folded(found.states, ends)


class OrderOfArrival(Mutation):
    def fold(
        self, tick: int, rows: Iterable[tuple[bytes, Version]], states: States, since_s: int
    ) -> Folded:
        arrived = [(key, each._replace(order=each.row_id)) for key, each in rows]
        return super().fold(tick, arrived, states, since_s)


class CheckpointKept(Mutation):
    """Whatever tick it holds."""

    often = MappingProxyType({"change_checkpoint": 3})

    def recovery(self, found: Found) -> Recovery:
        made = super().recovery(found)
        is_own = found.checkpoint and found.checkpoint.generation == found.claimed.generation
        return replace(made, state=StateAction.KEEP) if made.state and is_own else made


class LastTickNotFoldedAgain(Mutation):
    examples = 60
    often = MappingProxyType({"kill": 4})

    def recovery(self, found: Found) -> Recovery:
        made = super().recovery(found)
        is_again = made.state is StateAction.FOLD_AGAIN
        return replace(made, state=StateAction.KEEP) if is_again else made


class AlienCheckpointKept(Mutation):
    often = MappingProxyType({"change_checkpoint": 3})

    def recovery(self, found: Found) -> Recovery:
        made = super().recovery(found)
        is_alien = found.checkpoint and found.checkpoint.generation != found.claimed.generation
        return replace(made, state=StateAction.KEEP) if made.state and is_alien else made


class BootstrapWithoutDeletes(Mutation):
    often = MappingProxyType({"change_checkpoint": 3, "produce": 15})
    examples = 60

    def facts(self, rows: Sequence[StoredRow], is_visible: Callable[[StoredRow], bool]) -> Any:
        return [(each.key, each.version) for each in rows if is_visible(each)]


class BootstrapForgetsOldRows(Mutation):
    """Rows older than the retention, which queries see until their day is over."""

    often = MappingProxyType({"change_checkpoint": 3})
    examples = 60

    def is_remembered(self, version: Version, time_ms: int) -> bool:
        return version.order >= remembered_since_s(time_ms, RETENTION_HOURS)


class RecordsOfAnyAgeAreAdmitted(Mutation):
    """Rows older than deletes that a bootstrap has forgotten."""

    often = MappingProxyType({"change_checkpoint": 3, "produce": 20, "replicate": 12})
    examples = 200

    def is_admitted(self, order: int, time_ms: int) -> bool:
        return True


class DaysAreSeenForEver(Mutation):
    """Until a server drops them."""

    def is_shown(self, time_s: int, since_s: int) -> bool:
        return True


class DaysAreOverByTheClock(Mutation):
    """The clock is that of whoever asks, and not the time of the mark's tick."""

    def shown_since_s(self, time_ms: int, clock_ms: int) -> int:
        return super().shown_since_s(clock_ms, clock_ms)


class DaysDroppedAtTheNewestTick(Mutation):
    """Days that a mark between the horizon and the newest tick still shows."""

    often = MappingProxyType({"drop_days": 6, "produce": 15})
    examples = 60

    def expired_days(self, days: Iterable[int], horizon_ms: int, newest_ms: int) -> list[int]:
        return super().expired_days(days, newest_ms, newest_ms)


class ZombieCommits(Mutation):
    def is_fenced(self, epoch: int, newest: int) -> bool:
        return False


class PartOfABlockIsTheBlock(Mutation):
    examples = 60
    often = MappingProxyType({"kill": 6, "produce": 25, "settle": 0, "let_zombie": 0})

    def is_block_done(self, found: int, expected: int) -> bool:
        return found > 0 or not expected


class SettlePointBeforeTheCount(Mutation):
    def settled_servers(self, point: int, counts: Mapping[str, ReplicaCount]) -> list[str]:
        return list(counts)


class CountOnALaggingServer(Mutation):
    def settled_servers(self, point: int, counts: Mapping[str, ReplicaCount]) -> list[str]:
        return [name for name, each in counts.items() if not each.open_rows]


class QuorumSettlesForAll(Mutation):
    often = SETTLED

    def settled_servers(self, point: int, counts: Mapping[str, ReplicaCount]) -> list[str]:
        found = super().settled_servers(point, counts)
        return list(counts) if len(found) > 1 else found


class SettlePointOfTheReplacedServer(Mutation):
    """A server that was replaced takes parts of servers that a settle point does not name."""

    often = MappingProxyType({**SETTLED, "settle": 25, "replicate": 25, "replace_server": 5})
    examples = 60

    def is_named(self, server: Server, name: str, number: int) -> bool:
        return server.name == name


class NewestUntilWins(Mutation):
    often = SETTLED

    def is_settled_by(self, until: int, point: int) -> bool:
        return True

    def settled_until(self, until: int, point: int) -> int:
        return point


class EndsDroppedUpToTheSettlePoint(Mutation):
    often = SETTLED

    def last_dropped(self, horizon: int, following: int, points: Sequence[int]) -> int:
        return max(points, default=0)


class EndsDroppedBeforeTheHorizonIsPublished(Mutation):
    often = SETTLED

    def last_dropped(self, horizon: int, following: int, points: Sequence[int]) -> int:
        return following


class ServerBeforeTheHorizonAnswers(Mutation):
    is_away = True

    def may_answer(self, settled: int, horizon: int) -> bool:
        return True


class ServerBeforeTheHorizonCounts(Mutation):
    """Count by ends that are gone."""

    is_away = True

    def can_count(self, after: int, horizon: int) -> bool:
        return True


class ServerBeforeTheHorizonIsBelieved(Mutation):
    """Without a comparison with another one."""

    is_away = True

    def compared(self, point: int, found: OpenRows, wanted: OpenRows) -> ReplicaCount:
        return ReplicaCount(point, 0)


class MarkOfTheNewerLevel(Mutation):
    def server_mark(self, levels: Mapping[int, Level]) -> int:
        return max((max(each) for each in levels.values()), default=0)


class MarkOfRowsAlone(Mutation):
    def server_mark(self, levels: Mapping[int, Level]) -> int:
        return min((each.rows for each in levels.values()), default=0)


class CutMutation(Mutation):
    """A cut that is made of other things than it should be."""

    def changed(self, before: Tick, logs: Logs, cut: Callable[[Tick], Cut]) -> Cut:
        raise NotImplementedError

    def cut(
        self,
        before: Tick,
        logs: Logs,
        answering: set[str],
        clock_ms: int,
        accepted: Mapping[int, Loss],
    ) -> Cut:
        def usual(given: Tick) -> Cut:
            return super(CutMutation, self).cut(given, logs, answering, clock_ms, accepted)

        return self.changed(before, logs, usual)


class LanesNumberedAnew(CutMutation):
    often = MappingProxyType({"add_partition": 2})

    def changed(self, before: Tick, logs: Logs, cut: Callable[[Tick], Cut]) -> Cut:
        found = cut(before)
        if found.tick is None:
            return found
        pairs = sorted(zip(found.tick.lanes, found.tick.ranges, strict=True))
        lanes, ranges = zip(*pairs, strict=True)
        return replace(found, tick=replace(found.tick, lanes=lanes, ranges=ranges))


class AwayIsForgotten(CutMutation):
    """Lanes of a cluster that is away are left out."""

    often = MappingProxyType({"leave_or_return": 2})

    def changed(self, before: Tick, logs: Logs, cut: Callable[[Tick], Cut]) -> Cut:
        kept = [each for each in before.lanes if each in logs]
        ranges = [before.ranges[before.lanes.index(each)] for each in kept]
        return cut(replace(before, lanes=tuple(kept), ranges=tuple(ranges), stops=()))


class LossPassedOver(CutMutation):
    """A lane goes on where retention has left its log."""

    often = MappingProxyType({"expire": 2})

    def changed(self, before: Tick, logs: Logs, cut: Callable[[Tick], Cut]) -> Cut:
        starts = [log.start if (log := logs.get(lane)) else 0 for lane in before.lanes]
        pairs = zip(before.ends, starts, strict=True)
        begins = [max(end, start) for end, start in pairs]
        return cut(replace(before, ranges=tuple(LaneRange(each, each) for each in begins)))


class RecreatedTopicGoesOn(CutMutation):
    """A topic is told by its name alone."""

    often = MappingProxyType({"recreate": 2})

    def changed(self, before: Tick, logs: Logs, cut: Callable[[Tick], Cut]) -> Cut:
        new = {(each.cluster, each.partition): each for each in logs}
        lanes = tuple(new.get((each.cluster, each.partition), each) for each in before.lanes)
        return cut(
            replace(before, lanes=lanes, stops=()) if len(set(lanes)) == len(lanes) else before
        )


MUTATIONS = [
    each
    for each in (*Mutation.__subclasses__(), *CutMutation.__subclasses__())
    if each is not CutMutation
]
