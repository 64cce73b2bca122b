"""A plan applied: its groups live in the target from then on, and go on there where it says.

Each step is on disk before the next one begins, and doing it again does no harm, so whoever applies
the plan once more finishes what was broken off.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from balancer.plan import TopicPartition
from replicator.failover.outcome import (
    Commits,
    GroupOutcome,
    Held,
    Outcome,
    Standing,
    is_of,
    outcome_of,
    planned,
    standing_of,
)
from replicator.groups.groups import GroupActive, Groups
from replicator.groups.primary_log import PrimaryLog, WriteUnknown
from replicator.groups.primary_region import PrimaryRegion, decided
from replicator.groups.primary_store import PrimaryStore
from replicator.offsets.offset_store import StoreUnreachable
from replicator.planning.knowledge import LogRange, Request
from replicator.planning.plan import GroupPlan, Plan
from replicator.planning.recheck import PlanStale, Refused, recheck, request_of
from replicator.topics.admin_error import AdminError, Unreachable

Records = Mapping[str, PrimaryRegion]
Logs = Mapping[TopicPartition, LogRange | None]


class Look(Protocol):
    """Makes a plan of now (planning.py)."""

    def plan(self, request: Request, *, plan_id: str, now_ms: int) -> tuple[Plan, Logs]: ...


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked and changed in the target region."""

    store: PrimaryStore
    log: PrimaryLog
    groups: Groups


class Application:
    """One plan in its target region. Made anew for every attempt."""

    def __init__(self, plan: Plan, target: Target) -> None:
        self._plan = plan
        self._target = target
        self._groups = {each.group: each for each in plan.groups}
        self._records: dict[str, PrimaryRegion] = {}
        self._noted: dict[str, tuple[Standing, str]] = {}
        """What kept groups from being moved."""
        self._asked: set[str] = set()
        """Groups whose offsets were sent to a broker."""

    def steps(self, look: Look, *, who: str, now_ms: int) -> Generator[str, None, Outcome]:
        """Applies the plan; yields after each step what was done, and returns what became of it.

        1. Which groups this plan has begun to move already is read from the target's Redis. Of
           them, what the target says counts: the record is proof that step 2 once passed.
        2. All others are looked at anew. What speaks against them now ends it here, unchanged.
        3. Where they live is recorded in the target's log, which is on disk and outlasts Redis. The
           record goes before the offsets: from then on no offset sync writes them in the target,
           and another plan sees that it was overtaken.
        4. The same is recorded in the target's Redis, where everybody looks. A crash before it has
           moved nothing: the log's record is copied there some time, or written again.
        5. Group by group, offsets are written where they differ, if the record is still this
           plan's. Whoever else applies it at the same time writes the same.
        6. Everything is read back, and that is what is reported.

        Raises:
            PlanStale, Refused: at step 2, when none of its groups was begun.
            AdminError, StoreUnreachable: up to step 3; nothing was changed.
        """
        self._records |= self._target.store.all()
        begun = {name for name in self._groups if self._is_ours(name)}
        fresh = self._passed(look, set(self._groups) - begun, now_ms, has_begun=bool(begun))
        before = self._commits()
        self._target.log.make_topic()
        yield "looked again"
        if fresh:
            fresh = yield from self._record(sorted(fresh), who, now_ms)
        for name in sorted(begun | fresh):
            if self._write(self._groups[name], before[name], is_begun=name in begun):
                yield f"wrote the offsets of {name}"
        return self._read_back(before)

    def verified(self) -> Outcome:
        """What the target says of the plan now. Raises StoreUnreachable or AdminError."""
        records, commits = self._target.store.all(), self._commits()
        return self._told(
            outcome_of(self._plan, each, records.get(name), None, commits[name])
            for name, each in self._groups.items()
        )

    # -- looking

    def _passed(self, look: Look, names: set[str], now_ms: int, *, has_begun: bool) -> set[str]:
        """Those groups that may be moved now. What keeps them is raised, or noted if some others
        can be finished."""
        if not names:
            return names
        plan = self._plan
        try:
            if plan.blocks:
                raise Refused(plan.blocks)
            if plan.is_expired(now_ms):
                late_seconds = (now_ms - plan.expires_at_ms) // 1000
                raise PlanStale(f"plan {plan.id} expired {late_seconds} s ago; make a new plan")
            fresh, logs = look.plan(request_of(plan, names), plan_id=plan.id, now_ms=now_ms)
            recheck(plan, fresh, logs).raise_if_any(plan.id)
        except (PlanStale, Refused) as trouble:
            if not has_begun:
                raise
            self._note(names, Standing.OPEN, str(trouble))
            return set()
        return names

    def _commits(self) -> dict[str, Commits]:
        places = dict.fromkeys(place for each in self._plan.groups for place in planned(each))
        found = self._target.groups.commits(self._groups, places)
        return {
            name: {place: Held(*held) for place, held in found.get(name, {}).items()}
            for name in self._groups
        }

    def _is_ours(self, name: str) -> bool:
        return is_of(self._records.get(name), self._plan)

    # -- changing

    def _record(self, names: list[str], who: str, now_ms: int) -> Generator[str, None, set[str]]:
        """Has the groups live in the target; none of them when it is not sure that they do."""
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
            yield "recorded in the log where the groups live"
            target.store.write(new)
        except WriteUnknown as error:
            self._note(names, Standing.UNKNOWN, str(error))
            return set()
        except StoreUnreachable as error:
            self._note(names, Standing.OPEN, f"recorded as living in {plan.target}, but {error}")
            return set()
        self._records |= {record.group: record for record in new}
        yield "recorded in Redis where the groups live"
        return set(names)

    def _write(self, group: GroupPlan, before: Commits, *, is_begun: bool) -> bool:
        """Whether offsets were sent; what kept them from being written is noted."""
        name = group.group
        wanted = _missing(group, before, is_begun=is_begun)
        if not wanted or name in self._noted:
            return False
        try:
            # Another plan may come between this question and the write: then both have written
            # positions that skip nothing, and reading back tells whose stayed.
            found = self._target.store.all()
            self._records.update({name: found[name]} if name in found else {})
            if not self._is_ours(name):
                return False
            self._asked.add(name)
            refused = self._target.groups.write(name, wanted)
        except GroupActive:
            why = f"it has members in {self._plan.target} now: stop them, and apply again"
            self._note([name], Standing.OPEN, why)
        except (StoreUnreachable, Unreachable) as error:
            # All others would wait as long; reading back tells what became of this one.
            self._note(self._groups.keys() - self._asked | {name}, Standing.OPEN, str(error))
        except AdminError as error:
            self._note([name], Standing.OPEN, str(error))
        else:
            if refused:
                (topic, partition), why = min(refused.items())
                text = f"refused for {len(refused)} partitions, {topic}-{partition}: {why}"
                self._note([name], Standing.OPEN, text)
        return name in self._asked

    def _note(self, names: Iterable[str], standing: Standing, why: str) -> None:
        for name in names:
            self._noted.setdefault(name, (standing, why))

    # -- telling

    def _read_back(self, before: Mapping[str, Commits]) -> Outcome:
        after: Mapping[str, Commits] | None = None
        trouble = ""
        try:
            self._records |= self._target.store.all()
            after = self._commits()
        except (AdminError, StoreUnreachable) as error:
            trouble = str(error)
        return self._told(
            self._one(group, before[name], after[name] if after else None, trouble)
            for name, group in self._groups.items()
        )

    def _one(
        self, group: GroupPlan, before: Commits, after: Commits | None, trouble: str
    ) -> GroupOutcome:
        name = group.group
        if after is None and name not in self._asked:
            after = before
        found = outcome_of(self._plan, group, self._records.get(name), before, after)
        if found.standing is Standing.UNKNOWN:
            return replace(found, why=f"asked for, and could not be read back: {trouble}")
        if found.standing is Standing.AS_PLANNED and name in self._asked:
            return replace(found, standing=Standing.WRITTEN)
        if found.standing is Standing.OPEN and name in self._noted:
            standing, why = self._noted[name]
            return replace(found, standing=standing, why=why)
        return found

    def _told(self, groups: Iterable[GroupOutcome]) -> Outcome:
        plan = self._plan
        return Outcome(plan.id, plan.source, plan.target, tuple(groups))


def _missing(group: GroupPlan, before: Commits, *, is_begun: bool) -> Commits:
    """What has to be written of a group."""
    whole = planned(group)
    wanted = {place: held for place, held in whole.items() if before.get(place) != held}
    if not is_begun:
        return wanted
    # It may live there already: what its consumers or an operator did since is not taken back.
    moves = {TopicPartition(move.topic, move.partition): move for move in group.moves}
    standings = {place: standing_of(moves[place], before.get(place)) for place in whole}
    if Standing.OVERTAKEN in standings.values():
        return {}
    return {place: held for place, held in wanted.items() if standings[place] is Standing.OPEN}
