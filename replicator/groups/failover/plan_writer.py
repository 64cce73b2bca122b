"""Plan writer: applies a failover plan. Its groups move to the target, at the planned offsets.

Each step is on disk before the next begins, and repeating a step does no harm. Applying an
interrupted plan again therefore finishes it.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from balancer.topic_partition import TopicPartition
from replicator.config.names import vectors_group
from replicator.groups.failover.attempt import Attempt
from replicator.groups.failover.fresh_plans import FreshPlans
from replicator.groups.failover.outcome import (
    Commits,
    GroupOutcome,
    MoveState,
    Outcome,
    beside,
    is_of,
    outcome_of,
    planned,
)
from replicator.groups.failover.positions import Logs, missing, writable
from replicator.groups.membership.decisions import RegionDecisions
from replicator.groups.membership.groups import GroupActive, Groups
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import PrimaryRegion, decided, joined
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.planning.failover_plan import GroupPlan, Plan
from replicator.groups.planning.knowledge import LogRange
from replicator.groups.planning.recheck import PlanStale, Refused, recheck, request_of
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError, AdminUnreachable
from replicator.kafka.tail.compacted_topic import WriteUnknown
from replicator.runtime.store_errors import StoreUnreachable


class Step(NamedTuple):
    """Step that an attempt has taken: how many groups are left to write, and the step in words."""

    left: int
    text: str


@dataclass(frozen=True, slots=True)
class Target:
    """Stores, topics and clients of the target region that a plan writer uses."""

    store: PrimaryStore
    log: PrimaryLog
    groups: Groups
    admin: Admin


class PlanWriter:
    """Writer of one plan in its target region. Every attempt makes a new one."""

    def __init__(self, plan: Plan, target: Target) -> None:
        self._plan = plan
        self._target = target
        self._groups = {each.group: each for each in plan.groups}
        self._records: dict[str, PrimaryRegion] = {}
        self._attempt = Attempt()

    def steps(
        self, planner: FreshPlans, *, who: str, now_ms: int
    ) -> Generator[Step, None, Outcome]:
        """Applies the plan; yields each step after it was taken, and returns the outcome.

        1. Reads from the target's log and Redis which groups this plan has begun to move. These are
           judged by the target alone: the record proves that step 2 passed once. A group with a
           position past its log's end is not written. A position that retention took is raised to
           the log's start.
        2. Plans all other groups afresh, except those that a check of the plan blocks: these stay
           where they are. An error found now ends the attempt, with nothing changed. If groups were
           begun, it only leaves the others out.
        3. Records in the target's log that the groups live there. This log is on disk and outlasts
           Redis. The record goes before the offsets: from then on no offset sync writes these
           groups in the target, and another plan sees that it was overtaken.
        4. Records the same in the target's Redis, where all readers look. Groups that were begun
           are recorded again, because a crash or a flush may have kept their records from Redis.
        5. Writes offsets where they differ, group by group, if the record is still this plan's. A
           concurrent attempt with the same plan writes the same offsets.
        6. Reads everything back, and reports what was read.

        Raises:
            PlanStale, Refused: at step 2, when none of its groups was begun.
            AdminError, LogUnreadable, StoreUnreachable: up to step 3; nothing was changed.
        """
        self._records |= self._decisions()
        begun = {name for name in self._groups if self._is_ours(name)}
        if self._plan.is_blocked and not begun:
            raise Refused(self._plan.blocks)
        fresh = set(self._groups) - begun - self._plan.held_back.keys()
        if trouble := self._against(planner, fresh, now_ms):
            if not begun:
                raise trouble
            self._attempt.note(fresh, MoveState.OPEN, str(trouble))
            fresh = set()
        before = self._commits()
        wanted = {
            name: missing(self._groups[name], before[name], is_begun=name in begun)
            for name in begun | fresh
        }
        logs = self._logs({partition for name in begun for partition in wanted[name]})
        self._target.log.make_topic()
        self._target.store.write(self._records[name] for name in begun)
        names = sorted(begun | fresh)
        yield Step(len(names), "read the present state")
        if fresh:
            fresh = yield from self._record(sorted(fresh), who, now_ms, left=len(names))
            names = sorted(begun | fresh)
        for left, name in zip(reversed(range(len(names))), names, strict=True):
            positions = wanted[name]
            if name in begun:
                positions = self._writable(name, positions, logs)
            if self._write(name, positions, before[name]):
                yield Step(left, f"wrote the offsets of {name}")
        return self._read_back(before)

    def verified(self) -> Outcome:
        """Returns the outcome as the target shows it now.

        Raises the same errors as steps() where the target does not answer.
        """
        records, commits = self._decisions(), self._commits()
        return self._outcome(
            outcome_of(self._plan, each, records.get(name), None, commits[name])
            for name, each in self._groups.items()
        )

    # -- reading

    def _decisions(self) -> dict[str, PrimaryRegion]:
        return RegionDecisions(self._target.store, self._target.log).all()

    def _against(
        self, planner: FreshPlans, names: set[str], now_ms: int
    ) -> PlanStale | Refused | None:
        """Returns the error that forbids moving these groups now; None: there is none."""
        plan = self._plan
        if not names:
            return None
        if plan.is_expired(now_ms):
            late_seconds = (now_ms - plan.expires_at_ms) // 1000
            return PlanStale(f"plan {plan.id} expired {late_seconds} s ago; make a new plan")
        fresh, logs = planner.plan(request_of(plan, names), plan_id=plan.id, now_ms=now_ms)
        try:
            recheck(plan, fresh, logs).raise_if_any(plan.id)
        except (PlanStale, Refused) as trouble:
            return trouble
        return None

    def _logs(self, partitions: Collection[TopicPartition]) -> Logs:
        """Returns what the target's logs hold now; None for a log that does not answer."""
        starts = self._target.admin.offsets(partitions, "earliest")
        ends = self._target.admin.offsets(partitions, "latest")
        return {
            partition: LogRange(starts[partition], ends[partition])
            if partition in starts and partition in ends
            else None
            for partition in partitions
        }

    def _writable(self, name: str, positions: Commits, logs: Logs) -> Commits:
        found = writable(positions, logs, self._plan.target)
        if found.obstacle:
            self._attempt.note([name], MoveState.OPEN, found.obstacle)
        if found.remark:
            self._attempt.remarks[name] = found.remark
        return found.positions

    def _commits(self) -> dict[str, Commits]:
        partitions = dict.fromkeys(
            partition for each in self._plan.groups for partition in planned(each)
        )
        found = self._target.groups.commits(self._groups, partitions)
        return {name: found.get(name, {}) for name in self._groups}

    def _is_ours(self, name: str) -> bool:
        return is_of(self._records.get(name), self._plan)

    # -- writing

    def _record(
        self, names: list[str], who: str, now_ms: int, *, left: int
    ) -> Generator[Step, None, set[str]]:
        """Records that groups live in the target; returns those recorded for certain."""
        plan, target = self._plan, self._target
        new = [
            decided(
                self._records.get(name),
                name,
                plan.target,
                at_ms=now_ms,
                who=who,
                why=plan.reason,
                plan_id=plan.id,
            )
            for name in names
        ]
        try:
            target.log.write(new)
            yield Step(left, "recorded in the log where the groups live")
            target.store.write(new)
        except WriteUnknown as error:
            self._attempt.note(names, MoveState.UNKNOWN, str(error))
            return set()
        except StoreUnreachable as error:
            self._attempt.note(
                names, MoveState.OPEN, f"recorded as living in {plan.target}, but {error}"
            )
            return set()
        self._records |= {record.group: record for record in new}
        yield Step(left, "recorded in Redis where the groups live")
        return set(names)

    def _write(self, name: str, wanted: Commits, before: Commits) -> bool:
        """Writes a group's offsets; returns True if they were sent. Notes why they are not.

        Args:
            before: the group's commits in the target.
        """
        # The vectors go first: an offset without its own has the group read again.
        vectors = beside(self._groups[name], before, wanted)
        if not (wanted or vectors) or name in self._attempt.obstacles:
            return False
        try:
            # Another plan may record the group between this read and the write. Then both plans
            # have written offsets that skip nothing, and reading back shows whose offsets stayed.
            if found := self._target.store.get(name):
                self._records |= joined([found, self._records.get(name, found)])
            if not self._is_ours(name):
                return False
            if wanted:
                self._attempt.sent.add(name)
            refused = self._target.groups.write(vectors_group(name), vectors) if vectors else {}
            if wanted and not refused:
                refused = self._target.groups.write(name, wanted)
        except GroupActive:
            why = f"it has members in {self._plan.target} now: stop them, and apply again"
            self._attempt.note([name], MoveState.OPEN, why)
        except (StoreUnreachable, AdminUnreachable) as error:
            # All other groups would wait as long. Reading back shows what became of this one.
            self._attempt.note(
                self._groups.keys() - self._attempt.sent | {name}, MoveState.OPEN, str(error)
            )
        except AdminError as error:
            self._attempt.note([name], MoveState.OPEN, str(error))
        else:
            if refused:
                (topic, partition), why = min(refused.items())
                text = f"refused for {len(refused)} partitions, {topic}-{partition}: {why}"
                self._attempt.note([name], MoveState.OPEN, text)
        return name in self._attempt.sent

    # -- reporting

    def _read_back(self, before: Mapping[str, Commits]) -> Outcome:
        after: Mapping[str, Commits] | None = None
        read_error = ""
        try:
            known = self._records, self._target.store.all()
            self._records = joined(record for records in known for record in records.values())
            after = self._commits()
        except (AdminError, StoreUnreachable) as error:
            read_error = str(error)
        return self._outcome(
            self._judged(group, before[name], after[name] if after else None, read_error)
            for name, group in self._groups.items()
        )

    def _judged(
        self, group: GroupPlan, before: Commits, after: Commits | None, read_error: str
    ) -> GroupOutcome:
        if after is None and group.group not in self._attempt.sent:
            after = before
        record = self._records.get(group.group)
        found = outcome_of(self._plan, group, record, before, after)
        return self._attempt.judged(found, read_error)

    def _outcome(self, groups: Iterable[GroupOutcome]) -> Outcome:
        plan = self._plan
        held_back = frozenset(plan.held_back)
        return Outcome(plan.id, plan.source, plan.target, tuple(groups), held_back)
