"""Groups, and where one of them would resume."""

from __future__ import annotations

from tests.tui.console.values.times import MINUTE_MS, NOW, NOW_MS
from tui.facts.group_view import GroupDetail, GroupPosition, GroupView


def groups() -> tuple[GroupView, ...]:
    """Returns two groups, the second out of place."""
    return (
        GroupView(
            group="billing",
            primary="west",
            has_record=True,
            members=("west",),
            lag={"east": 3, "west": 2},
            partitions=3,
            topics=("trades",),
            copies_age_seconds=0.2,
            decided_at_ms=NOW_MS - 90 * MINUTE_MS,
            who="alice@ops",
            why="the bank is in the west",
        ),
        GroupView(
            group="fraud",
            primary="east",
            has_record=True,
            members=("east", "west"),
            is_out_of_place=True,
            is_active_twice=True,
            topics=("clicks", "orders"),
            lag={"east": 120},
            partitions=64,
            copies_age_seconds=1.4,
        ),
    )


def group_detail() -> GroupDetail:
    """Returns the positions of the group billing."""
    return GroupDetail(
        group="billing",
        source="west",
        target="east",
        worked_out_at=NOW - 1.0,
        positions=tuple(
            GroupPosition(
                topic="trades",
                partition=number,
                committed={"west": 43 + number, "east": 40},
                lag={"west": 2, "east": 3},
                resume=40,
                basis="floor",
                read_again=3,
            )
            for number in range(3)
        ),
    )
