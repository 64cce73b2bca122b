"""Plan of a failover: its findings, the offsets that it would write, and what forbids applying it.

A plan is a value with a text form, kept until it is applied or too old. Unknown is None, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from balancer.topic_partition import TopicPartition

SCHEMA_VERSION = 1
VALID_MS = 5 * 60 * 1000
"""Time for which a plan is valid. Offsets move on while it is read; an older plan is made anew."""

PlanBasis = Literal["exact", "floor", "none"]
"""exact: the first unread record. floor: not past it. none: nothing is known."""


class UnknownPlan(ValueError):
    """The plan is of another version of Sluice. Make a new plan with this version."""


class BrokenPlan(ValueError):
    """The text is not that of a plan, or is incomplete. Make a new plan."""


class Level(StrEnum):
    """Meaning of a check for applying the plan."""

    PASS = "PASS"
    WARN = "WARN"
    BLOCK = "BLOCK"


class Case(StrEnum):
    """Reason why a position moves, or does not."""

    MOVES = "moves"
    """The offset map gives the offset to continue from."""
    CHOSEN = "chosen"
    """Nothing is known; an operator chose the offset."""
    UNKNOWN = "unknown"
    """Nothing is known, and nothing was chosen: the plan cannot be applied."""
    UNCOMMITTED = "uncommitted"
    """The group reads the topic and never committed here: its auto.offset.reset decides."""
    NOT_MIRRORED = "not_mirrored"
    GONE = "gone"
    """The target has no such partition."""


class _Strict:
    """Base of all parts of a plan: refuses a text with fields that this version does not know."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Count(_Strict):
    """Number of records, and how it is meant."""

    records: int
    bound: Literal["exact", "at most", "at least"] = "exact"

    def __str__(self) -> str:
        return str(self.records) if self.bound == "exact" else f"{self.bound} {self.records}"


@dataclass(frozen=True, slots=True)
class Check(_Strict):
    """Result of one check, and the groups that it is about."""

    name: str
    level: Level
    text: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Completeness(_Strict):
    """Number of committed positions, and how many of them are mapped, and mapped exactly."""

    asked: int
    mapped: int
    exact: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(_Strict):
    """Move of one group in one partition: its position in the source region, and in the target."""

    topic: str
    partition: int
    case: Case
    committed: int | None
    """Next offset to read in the source region's aggregate; None: nothing is committed."""
    resume: int | None = None
    """Next offset to read in the target region's aggregate; None: nothing is written."""
    basis: PlanBasis = "none"
    read_again: Count | None = None
    """Records that the group has read and meets again from `resume` on, now or when they arrive."""
    not_replicated: Count | None = None
    """Records of the source region that are not in the target's aggregate; equal for all groups."""
    retention_took: int = 0
    """At most so many offsets that the group has not read are gone from the target."""
    vector: dict[str, int] = field(default_factory=dict)
    """Source region -> the first source offset not read.

    A region is left out where this is not known, or where the offset would not mean the same
    records everywhere.
    """
    target_committed: int | None = None
    """Offset that the group has committed in the target region until now."""
    target_vector: dict[str, int] = field(default_factory=dict)
    """Vector of that commit."""
    metadata: str = ""
    """Metadata that the application has committed in the source region; empty where it has none."""
    target_metadata: str = ""
    """The same in the target region."""
    notes: tuple[str, ...] = ()

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def is_mapped(self) -> bool:
        """Returns True if the offset map gave the offset to continue from."""
        return self.case is Case.MOVES

    @property
    def basis_or_case(self) -> str:
        """Basis of the resume offset; for a position that is not mapped, why it does not move."""
        return self.basis if self.is_mapped else self.case.value

    @property
    def goes_back(self) -> bool:
        """Returns True if the move takes back progress that the group made in the target region."""
        if self.resume is None or self.target_committed is None:
            return False
        return self.resume < self.target_committed


@dataclass(frozen=True, slots=True)
class GroupPlan(_Strict):
    """Moves of one group; none when it has committed nothing."""

    group: str
    primary_region: str | None
    """Region that the group lives in, by its record; None without one."""
    moves: tuple[Move, ...]
    generation: int = 0
    """Generation of that record; 0 without one. A changed one means that the group was moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(_Strict):
    """Plan for groups that move from one region to another."""

    id: str
    created_at_ms: int
    expires_at_ms: int
    source: str
    target: str
    reason: str
    is_planned: bool
    """True for a switchover: the source region is there, and its groups were stopped."""
    age_ms: int | None
    """Age of the copies that the plan was made from."""
    completeness: Completeness
    checks: tuple[Check, ...]
    groups: tuple[GroupPlan, ...]
    topics: tuple[str, ...] | None = None
    """Topics that were asked for; None: all that the groups have committed on."""
    choices: dict[str, int | None] = field(default_factory=dict)
    """Choices where nothing is known, by group: a time (ms) to begin at; None: the log's start."""
    may_go_back: tuple[str, ...] = ()
    target_cluster_id: str | None = None
    """Cluster id of the target's aggregate; None: it was not asked."""
    schema_version: int = SCHEMA_VERSION

    @property
    def blocks(self) -> tuple[Check, ...]:
        """Checks that must be solved, or allowed by name, before all groups can move.

        A check that names groups blocks only these; any other one blocks the whole plan.
        """
        return tuple(check for check in self.checks if check.level is Level.BLOCK)

    @property
    def held_back(self) -> dict[str, tuple[str, ...]]:
        """Groups of the plan that it never moves -> the names of the checks that block them."""
        found: dict[str, tuple[str, ...]] = {}
        for each in self.groups:
            if names := tuple(it.name for it in self.blocks if each.group in it.groups):
                found[each.group] = names
        return found

    @property
    def is_blocked(self) -> bool:
        """True if the plan cannot be applied: a check blocks it whole, or each of its groups."""
        if any(not check.groups for check in self.blocks):
            return True
        return bool(self.blocks) and len(self.held_back) == len(self.groups)

    def is_expired(self, now_ms: int) -> bool:
        return now_ms >= self.expires_at_ms

    def moves(self) -> Iterator[tuple[str, Move]]:
        """Returns all groups' moves, each with its group."""
        return ((each.group, move) for each in self.groups for move in each.moves)


_PLAN = TypeAdapter(Plan)


def encode(plan: Plan) -> str:
    """Returns the text form, for people and machines."""
    return _PLAN.dump_json(plan).decode()


def decode(text: str | bytes) -> Plan:
    """Returns the plan that `encode` wrote. Raises UnknownPlan or BrokenPlan."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise BrokenPlan(f"this is not the text of a plan: {error}") from error
    version = found.get("schema_version") if isinstance(found, dict) else None
    if version is None:
        raise BrokenPlan("this is not the text of a plan: it has no schema_version")
    if version != SCHEMA_VERSION:
        raise UnknownPlan(
            f"a plan of schema_version {version}; this Sluice reads {SCHEMA_VERSION}: plan anew"
        )
    try:
        return _PLAN.validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise BrokenPlan(f"this plan is broken at {field}: {first['msg']}") from error
