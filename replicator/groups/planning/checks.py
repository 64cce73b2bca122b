"""Checks of a plan, each with its level and text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from balancer.topic_partition import TopicPartition
from replicator.groups.membership.group_types import unmovable_text
from replicator.groups.planning.failover_plan import (
    Case,
    Check,
    Completeness,
    GroupPlan,
    Level,
    Move,
)
from replicator.groups.planning.knowledge import Knowledge, Request

AGE_WARN_MS = 60_000
"""Age of copies above which a check warns. A working copier keeps them a second or so old."""
HAS_TARGET = frozenset({Case.MOVES, Case.CHOSEN, Case.UNKNOWN})
"""Cases of positions that have a partition in the target to continue in."""
NAMES_MAX = 5
"""Names in a check's text; the check itself has all groups."""


def checks(
    request: Request, knowledge: Knowledge, groups: Sequence[GroupPlan]
) -> tuple[Check, ...]:
    """Returns all checks, in the order in which an operator asks for them."""
    found = _Findings(request, knowledge, groups)
    return (
        found.age(),
        found.source_activity(),
        found.target_activity(),
        found.primary_region(),
        found.progress(),
        found.forward(),
        found.basis(),
        found.map(),
        found.ledger(),
        found.replication(),
        found.retention(),
        found.commits(),
        found.topics(),
        found.group_types(),
        found.left_out(),
    )


def completeness(moves: Iterable[Move]) -> Completeness:
    """Counts positions that have a target partition, and how many are mapped and exact."""
    bases = [move.basis for move in moves if move.case in HAS_TARGET]
    mapped = len(bases) - bases.count("none")
    return Completeness(len(bases), mapped, bases.count("exact"))


class _Findings:
    def __init__(self, request: Request, knowledge: Knowledge, groups: Sequence[GroupPlan]) -> None:
        self._request = request
        self._knowledge = knowledge
        self._groups = groups

    def age(self) -> Check:
        age_ms = self._knowledge.age_ms
        if age_ms is None:
            level = Level.WARN if self._request.is_planned else Level.BLOCK
            return Check("age", level, "the age of the copies is not known")
        level = Level.WARN if age_ms > AGE_WARN_MS else Level.PASS
        return Check("age", level, f"the copies are {age_ms / 1000:.1f} s old")

    def source_activity(self) -> Check:
        source, is_planned = self._request.source, self._request.is_planned
        name = "source activity"
        if self._knowledge.active_in_source is None:
            level = Level.BLOCK if is_planned else Level.WARN
            text = f"{source} does not answer: groups may still have members there"
            return Check(name, level, text)
        active = self._request.groups & self._knowledge.active_in_source
        if not active:
            return Check(name, Level.PASS, f"no group has members in {source}")
        level = Level.BLOCK if is_planned else Level.WARN
        return _about(name, level, f"members in {source}, which continue to read", active)

    def target_activity(self) -> Check:
        target = self._request.target
        active = self._request.groups & self._knowledge.active_in_target
        if not active:
            return Check("target activity", Level.PASS, f"no group has members in {target}")
        text = f"members in {target}: offsets can only be written once they have stopped"
        return _about("target activity", Level.BLOCK, text, active)

    def primary_region(self) -> Check:
        source = self._request.source
        elsewhere = {
            each.group for each in self._groups if each.primary_region not in (None, source)
        }
        if not elsewhere:
            return Check(
                "primary region", Level.PASS, f"no group is known to live outside {source}"
            )
        return _about("primary region", Level.WARN, f"does not live in {source}", elsewhere)

    def progress(self) -> Check:
        target = self._request.target
        back = self._having(lambda move: move.goes_back)
        if not back:
            return Check(
                "progress", Level.PASS, f"no group goes back behind its commits in {target}"
            )
        unnamed = back - self._request.may_go_back
        if not unnamed:
            text = f"goes back behind its commits in {target}, as requested"
            return _about("progress", Level.WARN, text, back)
        text = f"would go back behind its commits in {target}: name it to allow that"
        return _about("progress", Level.BLOCK, text, unnamed)

    def forward(self) -> Check:
        target = self._request.target
        own = {
            each.group
            for each in self._groups
            if each.primary_region is None and any(map(_goes_forward, each.moves))
        }
        if not own:
            text = f"no group without a primary region skips ahead of its commits in {target}"
            return Check("forward", Level.PASS, text)
        text = (
            f"has no recorded primary region, and commits in {target} before the planned offset: "
            f"an active/active group would skip records in {target} that it has not read"
        )
        return _about("forward", Level.WARN, text, own)

    def basis(self) -> Check:
        unknown = self._having(lambda move: move.case is Case.UNKNOWN)
        if unknown:
            text = "nothing is known of a position: choose earliest or a timestamp, or leave it out"
            return _about("basis", Level.BLOCK, text, unknown)
        chosen = self._having(lambda move: move.case is Case.CHOSEN)
        if chosen:
            text = "nothing is known of a position: it goes to the offset that was chosen"
            return _about("basis", Level.WARN, text, chosen)
        return Check("basis", Level.PASS, "something is known of every position")

    def map(self) -> Check:
        whole = completeness(self._moves())
        text = f"{whole.mapped} of {whole.asked} positions are mapped, {whole.exact} exactly"
        return Check("map", Level.PASS if whole.exact == whole.asked else Level.WARN, text)

    def ledger(self) -> Check:
        partitions = self._partitions(lambda move: move.case in HAS_TARGET)
        unknown = self._knowledge.unknown_ledgers(self._request, partitions)
        if not unknown:
            return Check("ledger", Level.PASS, "the ledgers of all routes are known")
        routes = (f"{route} (partitions: {count})" for route, count in sorted(unknown.items()))
        return Check("ledger", Level.WARN, f"no ledger entry is known for {', '.join(routes)}")

    def replication(self) -> Check:
        source, target = self._request.source, self._request.target
        counts = {
            move.topic_partition: move.not_replicated
            for move in self._moves()
            if move.case in HAS_TARGET
        }.values()
        missing = sum(count.records for count in counts if count)
        unknown = sum(count is None for count in counts)
        unsure = sum(count is not None and count.bound == "at least" for count in counts)
        if not missing and not unknown and not unsure:
            return Check("replication", Level.PASS, f"{target} has all records of {source}")
        text = f"{missing} known records of {source} are not in {target}"
        if unsure:
            text += f"; {unsure} partitions may have more, as {source} does not answer"
        if unknown:
            text += f"; not known for {unknown} partitions"
        return Check("replication", Level.WARN, text)

    def retention(self) -> Check:
        took = sum(move.retention_took for move in self._moves())
        target = self._request.target
        if not took:
            return Check("retention", Level.PASS, f"{target} still holds all that is unread")
        text = f"retention in {target} took up to {took} unread offsets"
        return _about(
            "retention", Level.WARN, text, self._having(lambda move: move.retention_took > 0)
        )

    def commits(self) -> Check:
        source = self._request.source
        without = {each.group for each in self._groups if not each.moves}
        partly = self._having(lambda move: move.case is Case.UNCOMMITTED)
        if not without and not partly:
            return Check(
                "commits", Level.PASS, "every group has a commit on every partition that it reads"
            )
        texts = []
        if without:
            texts.append(f"nothing to move, as nothing was committed in {source}: {named(without)}")
        if partly:
            texts.append(f"auto.offset.reset decides on some partitions: {named(partly)}")
        return Check("commits", Level.WARN, "; ".join(texts), tuple(sorted(without | partly)))

    def topics(self) -> Check:
        target = self._request.target
        left = self._partitions(lambda move: move.case in (Case.NOT_MIRRORED, Case.GONE))
        if not left:
            return Check("topics", Level.PASS, f"all partitions are in {target}")
        text = f"not in {target}: " + named({f"{topic}-{number}" for topic, number in left})
        groups = self._having(lambda move: move.case in (Case.NOT_MIRRORED, Case.GONE))
        return Check("topics", Level.WARN, text, tuple(sorted(groups)))

    def group_types(self) -> Check:
        name = "group types"
        source = self._request.source
        known = self._knowledge.unmovable
        if known is None:
            level = Level.WARN if self._request.takes_all else Level.PASS
            return Check(name, level, f"share groups of {source} are not known, and never moved")
        if asked := {group: known[group] for group in self._request.groups if group in known}:
            return _about(name, Level.BLOCK, unmovable_text(asked), asked)
        if known and self._request.takes_all:
            return Check(name, Level.WARN, f"{unmovable_text(known)}: {named(known)}")
        return Check(name, Level.PASS, "the progress of every group is in committed offsets")

    def left_out(self) -> Check:
        left = self._knowledge.topics_left_out
        if not left:
            return Check("left out", Level.PASS, "every topic of the groups was requested")
        topics = named(set().union(*left.values()))
        text = f"would be recorded as moved, but not on topics that were not requested ({topics})"
        return _about("left out", Level.BLOCK, text, left)

    def _moves(self) -> list[Move]:
        return [move for each in self._groups for move in each.moves]

    def _having(self, is_meant: Callable[[Move], bool]) -> set[str]:
        return {each.group for each in self._groups if any(map(is_meant, each.moves))}

    def _partitions(self, is_meant: Callable[[Move], bool]) -> set[TopicPartition]:
        return {move.topic_partition for move in self._moves() if is_meant(move)}


def _goes_forward(move: Move) -> bool:
    if move.resume is None or move.target_committed is None:
        return False
    return move.target_committed < move.resume


def named(names: Collection[str]) -> str:
    """Returns the first few names, and how many more there are."""
    ordered = sorted(names)
    more = f" and {len(ordered) - NAMES_MAX} more" if len(ordered) > NAMES_MAX else ""
    return ", ".join(ordered[:NAMES_MAX]) + more


def _about(name: str, level: Level, text: str, groups: Collection[str]) -> Check:
    return Check(name, level, f"{text}: {named(groups)}", tuple(sorted(groups)))
