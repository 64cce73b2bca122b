"""Forms that plan a failover or a switchover. A plan changes nothing; it is saved and shown."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tui.pages.page import Action, Field

ONE_REGION = "there is no other region to move to"


def plan_actions(
    regions: Sequence[str], source: str = "", target: str = "", group: str | None = None
) -> tuple[Action, ...]:
    """Returns the actions that plan: P a failover, W a switchover.

    Args:
        regions: of the appliance.
        source, target: that the form begins with.
        group: the only group of the plan; None: the form asks.
    """
    why_off = ONE_REGION if len(regions) < 2 else None
    fields = (*_way(regions, source, target), *_groups(group), *_terms())
    wait = Field(
        "wait seconds",
        "--wait-seconds",
        "60",
        is_required=False,
        help="longest wait until members have left and records have arrived",
    )
    return (
        Action("P", "plan failover", ("failover", "plan"), fields, why_off=why_off),
        Action("W", "plan switchover", ("switchover", "plan"), (*fields, wait), why_off=why_off),
    )


def _way(regions: Sequence[str], source: str, target: str) -> tuple[Field, ...]:
    names = tuple(regions)
    return (
        Field("from", "--from", source, choices=names, help="region that the groups leave"),
        Field("to", "--to", target, choices=names, help="region that the groups move to"),
    )


def _groups(group: str | None) -> tuple[Field, ...]:
    if group is not None:
        return (Field("group", "--group", shlex.quote(group)),)
    return (
        Field(
            "groups",
            "--group",
            is_required=False,
            help="names with blanks between them; or all groups, below",
        ),
        Field(
            "all groups",
            "--all-groups",
            "no",
            is_required=False,
            choices=("no", "yes"),
            help="all that have committed in the region that they leave",
        ),
        Field(
            "except",
            "--except",
            is_required=False,
            help="with all groups: names of those that consume in every region",
        ),
    )


def _terms() -> tuple[Field, ...]:
    return (
        Field("reason", "--reason", help="recorded, and shown to other operators"),
        Field(
            "valid minutes",
            "--valid-minutes",
            "5",
            is_required=False,
            help="time for which the plan can be applied",
        ),
    )
