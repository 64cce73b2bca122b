"""Request of a `plan` command: parsed from the command line, checked against known groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from replicator.groups.planning.knowledge import Choice, Request

NAMES_MAX = 5


class NothingKnown(Exception):
    """The target does not know which groups have committed in the source. See the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Options of a `plan` command, as typed."""

    config: str
    source: str
    target: str
    groups: Sequence[str]
    all_groups: bool
    recorded: bool
    of_plan: str | None
    left_out: Sequence[str]
    topics: Sequence[str]
    reason: str
    earliest: Sequence[str]
    from_timestamp: Sequence[str]
    may_go_back: Sequence[str]
    valid_minutes: float
    timeout: float
    partitions: bool
    output: str
    wait_seconds: float | None = None
    """Set for a switchover; None for a failover."""


def request_of(
    asked: Asked, known: Mapping[str, str | None], moved: Collection[str] = ()
) -> Request:
    """Returns the request that the options describe.

    Args:
        known: region that each known group lives in; None for a group without a record.
        moved: groups that live in the source since the plan named by --of-plan.

    Raises:
        UsageError: options contradict each other, or name unknown groups.
        NothingKnown: no group at all is known.
    """
    from replicator.groups.planning.knowledge import Request

    groups = groups_of(asked, known, moved)
    choices = choices_of(asked.earliest, asked.from_timestamp)
    named = {"--may-go-back": asked.may_go_back, "--earliest or --from-timestamp": choices}
    for option, names in named.items():
        if others := sorted(set(names) - groups):
            raise click.UsageError(f"{option} names groups that are not asked for: {some(others)}")
    return Request(
        source=asked.source,
        target=asked.target,
        reason=asked.reason.strip(),
        groups=groups,
        topics=frozenset(asked.topics) or None,
        is_planned=asked.wait_seconds is not None,
        choices=choices,
        may_go_back=frozenset(asked.may_go_back),
    )


def groups_of(
    asked: Asked, known: Mapping[str, str | None], moved: Collection[str]
) -> frozenset[str]:
    if [bool(asked.groups), asked.all_groups, bool(asked.of_plan)].count(True) != 1:
        raise click.UsageError("name groups with --group, or take --all-groups or --of-plan: one")
    if asked.recorded and not asked.all_groups:
        raise click.UsageError("--recorded goes with --all-groups")
    if asked.left_out and asked.groups:
        raise click.UsageError("--except goes with --all-groups or --of-plan")
    if not known:
        raise NothingKnown(
            f"{asked.target} knows of no group that has committed in {asked.source}: its Redis "
            f"has no copies. `sluice offsets` of {asked.source} makes them; a Redis that was "
            "flushed is filled again while that region lives"
        )
    unknown = sorted({*asked.groups, *asked.left_out} - set(known))
    if unknown:
        near = get_close_matches(unknown[0], known, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise click.UsageError(
            f"{asked.target} knows of nothing that these groups have committed in {asked.source}: "
            f"{some(unknown)}{hint}"
        )
    if asked.groups:
        return frozenset(asked.groups)
    if asked.of_plan:
        if not moved:
            raise click.UsageError(
                f"{asked.target} knows of no group that lives in {asked.source} by plan "
                f"{asked.of_plan!r}: `sluice groups show -o json` names the plan of each"
            )
        return frozenset(moved) - set(asked.left_out)
    # A group that lives elsewhere is left out: its offsets in the source are only kept in step.
    allowed = {asked.source} if asked.recorded else {asked.source, None}
    groups = {group for group, region in known.items() if region in allowed}
    if not groups - set(asked.left_out):
        raise click.UsageError(f"no group is left that lives in {asked.source}")
    return frozenset(groups - set(asked.left_out))


def choices_of(earliest: Sequence[str], timestamps: Sequence[str]) -> dict[str, Choice]:
    from replicator.groups.planning.knowledge import Choice

    choices = {group: Choice() for group in earliest}
    for text in timestamps:
        group, _, instant = text.rpartition("=")
        try:
            at = datetime.fromisoformat(instant)
        except ValueError:
            at = None
        if not group or at is None or at.tzinfo is None or at.timestamp() < 0:
            raise click.UsageError(
                f"--from-timestamp {text!r}: it is GROUP=DATE-TIME with a zone, such as "
                "orders=2013-01-01T00:00:00Z"
            )
        if group in choices:
            raise click.UsageError(f"where {group!r} goes on is chosen twice")
        choices[group] = Choice(round(at.timestamp() * 1000))
    return choices


def some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return ", ".join(names[:NAMES_MAX]) + more
