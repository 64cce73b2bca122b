"""A failover's plan: what was found out, what it would write, and what speaks against it.

A plan is a value with a text form, kept until it is applied or too old. Unknown is None, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

SCHEMA_VERSION = 1
VALID_MS = 5 * 60 * 1000
"""Offsets go on while a plan is read; an older one is made anew."""

PlanBasis = Literal["exact", "floor", "none"]
"""exact: the first unread record. floor: not past it. none: nothing is known."""


class UnknownPlan(ValueError):
    """A plan of another version of Sluice. Make a new one with this one."""


class BrokenPlan(ValueError):
    """This is not the text of a plan, or not all of it. Make a new one."""


class Level(StrEnum):
    """What a check means for applying the plan."""

    PASS = "PASS"
    WARN = "WARN"
    BLOCK = "BLOCK"


class Case(StrEnum):
    """Why a position moves, or does not."""

    MOVES = "moves"
    """The map tells where it goes on."""
    CHOSEN = "chosen"
    """Nothing is known; an operator chose where it goes on."""
    UNKNOWN = "unknown"
    """Nothing is known, and nothing was chosen: the plan cannot be applied like this."""
    UNCOMMITTED = "uncommitted"
    """The group reads the topic and never committed here: its auto.offset.reset decides."""
    NOT_MIRRORED = "not_mirrored"
    GONE = "gone"
    """The target has no such partition."""


class _Strict:
    """What all parts of a plan share: text that says more than this version knows is refused."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Count(_Strict):
    """A number of records, and how it is meant."""

    records: int
    bound: Literal["exact", "at most", "at least"] = "exact"

    def __str__(self) -> str:
        return str(self.records) if self.bound == "exact" else f"{self.bound} {self.records}"


@dataclass(frozen=True, slots=True)
class Check(_Strict):
    """One thing that was looked at, and the groups that the finding is about."""

    name: str
    level: Level
    text: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Completeness(_Strict):
    """Of how many committed positions the map told where they go on, and of how many exactly."""

    asked: int
    mapped: int
    exact: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(_Strict):
    """One group in one partition: where it stood in the source region, where it goes on."""

    topic: str
    partition: int
    case: Case
    committed: int | None
    """The next offset to read in the source region's aggregate."""
    resume: int | None = None
    """The next offset to read in the target region's; None: nothing is written."""
    basis: PlanBasis = "none"
    read_again: Count | None = None
    """What the group has read and meets again from resume on, now or when it arrives."""
    not_replicated: Count | None = None
    """Records of the source region that the target's aggregate has not; the same for all groups."""
    retention_took: int = 0
    """At most so many offsets that the group has not read are gone from the target."""
    vector: dict[str, int] = field(default_factory=dict)
    """Source region -> the first source offset not read. Without a region: it is not known, or it
    would not mean the same records everywhere."""
    target_committed: int | None = None
    """What the group has committed in the target region until now."""
    target_vector: dict[str, int] = field(default_factory=dict)
    """What stands beside that."""
    notes: tuple[str, ...] = ()

    @property
    def is_mapped(self) -> bool:
        """Whether the map told where it goes on."""
        return self.case is Case.MOVES

    @property
    def goes_back(self) -> bool:
        """Whether it would take back progress that the group has made in the target region."""
        if self.resume is None or self.target_committed is None:
            return False
        return self.resume < self.target_committed


@dataclass(frozen=True, slots=True)
class GroupPlan(_Strict):
    """One group; without moves when it has committed nothing."""

    group: str
    primary_region: str | None
    """Where it lives, by the record of it; None without one."""
    moves: tuple[Move, ...]
    generation: int = 0
    """Of that record; 0 without one. Where it has become another, somebody else moved the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(_Strict):
    """Groups from one region to another."""

    id: str
    created_at_ms: int
    expires_at_ms: int
    source: str
    target: str
    reason: str
    is_planned: bool
    """A switchover: the source region is there, and its groups were stopped."""
    age_ms: int | None
    """How old the copies are that it was made from."""
    completeness: Completeness
    checks: tuple[Check, ...]
    groups: tuple[GroupPlan, ...]
    topics: tuple[str, ...] | None = None
    """Only these were asked for; None: all that the groups have committed on."""
    choices: dict[str, int | None] = field(default_factory=dict)
    """Where nothing is known, by group: from this time (ms) on; None: from the log's start."""
    may_go_back: tuple[str, ...] = ()
    target_cluster_id: str | None = None
    """What the target's aggregate calls itself; None: it was not asked."""
    schema_version: int = SCHEMA_VERSION

    @property
    def blocks(self) -> tuple[Check, ...]:
        """What has to be solved, or named, before it can be applied."""
        return tuple(check for check in self.checks if check.level is Level.BLOCK)

    def is_expired(self, now_ms: int) -> bool:
        return now_ms >= self.expires_at_ms

    def moves(self) -> Iterator[tuple[str, Move]]:
        """All groups' moves, each with its group."""
        return ((each.group, move) for each in self.groups for move in each.moves)


_PLAN = TypeAdapter(Plan)


def encode(plan: Plan) -> str:
    """The text form, for people and machines."""
    return _PLAN.dump_json(plan).decode()


def decode(text: str | bytes) -> Plan:
    """The plan that `encode` wrote. Raises UnknownPlan or BrokenPlan."""
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
        place = ".".join(map(str, first["loc"]))
        raise BrokenPlan(f"this plan is broken at {place}: {first['msg']}") from error
