"""Making of a plan for a failover or a switchover: the request of an operator, checked against the
known groups, and the plan from what the servers know now."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from types import MappingProxyType

from replicator.config.topology import Appliance
from replicator.groups.failover.arrival import Arrival, Awaited
from replicator.groups.failover.fresh_plans import FreshPlans, checked
from replicator.groups.failover.plan_files import new_id
from replicator.groups.membership.group_types import unmovable_text
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.planning.failover_plan import Plan
from replicator.groups.planning.knowledge import Choice, Request
from tui.commands.progress import run_to_end

NAMES_MAX = 5
NO_TYPES: Mapping[str, str] = MappingProxyType({})


class BadRequest(ValueError):
    """The request contradicts itself, or names unknown groups. The text says what to correct."""


class NothingKnown(Exception):
    """The target does not know which groups have committed in the source. See the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInput:
    """Input for a plan, named like the options of the `plan` commands.

    Args:
        recorded: with all_groups, only groups recorded as living in the source.
        of_plan: selects the groups that live in the source since this plan.
        from_timestamp: each as GROUP=DATE-TIME.
        wait_seconds: maximum wait of a switchover; None for a failover, which does not wait.
    """

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
    wait_seconds: float | None = None


def make_plan(
    appliance: Appliance, wanted: PlanInput, progress: Callable[[Awaited], object]
) -> Plan:
    """Makes a plan; changes nothing and saves nothing. Blocking.

    For a switchover it first waits until the target has all that the groups need. The result of the
    wait is the plan's first check.

    Args:
        progress: called about once a second during the wait.

    Raises:
        BadRequest, NoWay, UnknownRegion: the input is wrong.
        NothingKnown: the target knows no group of the source.
        AdminError, LogUnreadable, StoreUnreachable: the target does not answer.
    """
    checked(appliance, wanted.source, wanted.target)
    if not wanted.reason.strip():
        raise BadRequest("--reason is empty: it is what others read tomorrow")
    plans = FreshPlans(appliance, timeout_seconds=wanted.timeout)
    known = plans.groups(wanted.source, wanted.target)
    moved = _groups_moved(appliance, wanted) if wanted.of_plan else frozenset()
    unmovable: Mapping[str, str] = {}
    if set(wanted.groups) - set(known):
        unmovable = plans.unmovable(wanted.source, wanted.target)
    request = request_of(wanted, known, moved, unmovable)
    arrived = None
    if wanted.wait_seconds is not None:
        steps = Arrival(appliance, plans, request).steps(
            wanted.wait_seconds, timeout_seconds=wanted.timeout
        )
        arrived = run_to_end(steps, progress)
    now_ms = time.time_ns() // 1_000_000
    plan, _ = plans.plan(
        request,
        plan_id=new_id(now_ms),
        now_ms=now_ms,
        valid_ms=round(wanted.valid_minutes * 60_000),
    )
    return replace(plan, checks=(arrived, *plan.checks)) if arrived else plan


def _groups_moved(appliance: Appliance, wanted: PlanInput) -> frozenset[str]:
    """Returns the groups that live in the source since plan `of_plan`, by the target's Redis."""
    url = appliance.region(wanted.target).redis_url()
    with PrimaryStore(url, timeout_seconds=wanted.timeout) as store:
        records = store.all()
    return frozenset(
        group
        for group, record in records.items()
        if (record.plan_id, record.region) == (wanted.of_plan, wanted.source)
    )


def request_of(
    wanted: PlanInput,
    known: Mapping[str, str | None],
    moved: Collection[str] = (),
    unmovable: Mapping[str, str] = NO_TYPES,
) -> Request:
    """Returns the request that the input describes.

    Args:
        known: region that each known group lives in; None for a group without a record.
        moved: groups that live in the source since the plan named by --of-plan.
        unmovable: groups of the source that no plan moves, with their types.

    Raises:
        BadRequest: the input contradicts itself, or names unknown groups.
        NothingKnown: no group at all is known.
    """
    if types := {group: unmovable[group] for group in wanted.groups if group in unmovable}:
        raise BadRequest(f"{unmovable_text(types)}: {_some(sorted(types))}")
    groups = _groups(wanted, known, moved)
    choices = _choices(wanted.earliest, wanted.from_timestamp)
    named = {"--may-go-back": wanted.may_go_back, "--earliest or --from-timestamp": choices}
    for option, names in named.items():
        if others := sorted(set(names) - groups):
            raise BadRequest(f"{option} names groups that are not asked for: {_some(others)}")
    return Request(
        source=wanted.source,
        target=wanted.target,
        reason=wanted.reason.strip(),
        groups=groups,
        topics=frozenset(wanted.topics) or None,
        is_planned=wanted.wait_seconds is not None,
        takes_all=wanted.all_groups,
        choices=choices,
        may_go_back=frozenset(wanted.may_go_back),
    )


def _groups(
    wanted: PlanInput, known: Mapping[str, str | None], moved: Collection[str]
) -> frozenset[str]:
    if [bool(wanted.groups), wanted.all_groups, bool(wanted.of_plan)].count(True) != 1:
        raise BadRequest("name groups with --group, or take --all-groups or --of-plan: one")
    if wanted.recorded and not wanted.all_groups:
        raise BadRequest("--recorded goes with --all-groups")
    if wanted.left_out and wanted.groups:
        raise BadRequest("--except goes with --all-groups or --of-plan")
    if not known:
        raise NothingKnown(
            f"{wanted.target} knows of no group that has committed in {wanted.source}: its Redis "
            f"has no copies. `sluice offsets` of {wanted.source} makes them; a Redis that was "
            "flushed is filled again while that region lives"
        )
    unknown = sorted({*wanted.groups, *wanted.left_out} - set(known))
    if unknown:
        near = get_close_matches(unknown[0], known, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise BadRequest(
            f"{wanted.target} knows of nothing that these groups have committed in "
            f"{wanted.source}: {_some(unknown)}{hint}"
        )
    if wanted.groups:
        return frozenset(wanted.groups)
    if wanted.of_plan:
        if not moved:
            raise BadRequest(
                f"{wanted.target} knows of no group that lives in {wanted.source} by plan "
                f"{wanted.of_plan!r}: `sluice groups show -o json` names the plan of each"
            )
        return frozenset(moved) - set(wanted.left_out)
    # A group that lives elsewhere is left out: its offsets in the source are only kept in step.
    allowed = {wanted.source} if wanted.recorded else {wanted.source, None}
    groups = {group for group, region in known.items() if region in allowed}
    if not groups - set(wanted.left_out):
        raise BadRequest(f"no group is left that lives in {wanted.source}")
    return frozenset(groups - set(wanted.left_out))


def _choices(earliest: Sequence[str], timestamps: Sequence[str]) -> dict[str, Choice]:
    choices = {group: Choice() for group in earliest}
    for text in timestamps:
        group, _, instant = text.rpartition("=")
        try:
            at = datetime.fromisoformat(instant)
        except ValueError:
            at = None
        if not group or at is None or at.tzinfo is None or at.timestamp() < 0:
            raise BadRequest(
                f"--from-timestamp {text!r}: it is GROUP=DATE-TIME with a zone, such as "
                "orders=2013-01-01T00:00:00Z"
            )
        if group in choices:
            raise BadRequest(f"where {group!r} goes on is chosen twice")
        choices[group] = Choice(round(at.timestamp() * 1000))
    return choices


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return ", ".join(names[:NAMES_MAX]) + more
