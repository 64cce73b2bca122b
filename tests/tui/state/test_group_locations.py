"""Output of the primary regions and members of groups."""

from __future__ import annotations

import pytest

from replicator.groups.membership.primary_region import PrimaryRegion, decided
from tui.state.group_locations import (
    Decision,
    Decisions,
    GroupPlaces,
    as_text,
    as_values,
    decisions_text,
    decisions_values,
)

WEST = decided(None, "orders", "west", at_ms=0, who="ann@ops", why="near the bank")
FREE = decided(WEST, "orders", None, at_ms=60_000, who="bob@ops", why="both")


def places(
    records: dict[str, PrimaryRegion] | None = None,
    silent: tuple[str, ...] = (),
    problems: tuple[str, ...] = (),
    **active: str,
) -> GroupPlaces:
    return GroupPlaces(
        region="west",
        records={"orders": WEST} if records is None else records,
        active={region: frozenset(groups.split()) for region, groups in active.items()},
        silent=silent,
        groups=("bills", "orders"),
        problems=problems,
    )


def rows(text: str) -> dict[str, list[str]]:
    """Returns the cells of each group's row."""
    lines = text.split("\n\n")[0].split("\n")[1:]
    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_a_group_is_shown_with_where_it_lives_who_said_so_and_why():
    shown = rows(as_text(places(west="orders", east="bills")))
    decision = ["west", "1970-01-01T00:00:00+00:00", "ann@ops", "near the bank"]
    assert shown["orders"] == [*decision, "west", "in place"]
    assert shown["bills"] == ["any region", "-", "-", "-", "east", "-"]


@pytest.mark.parametrize(
    ("active", "state"),
    [
        ({"west": "", "east": "orders"}, ["east", "OUT OF PLACE"]),
        ({"west": "orders", "east": "orders"}, ["east, west", "ACTIVE TWICE"]),
        ({"west": "", "east": ""}, ["-", "in place"]),
    ],
)
def test_a_group_that_is_not_in_its_place_stands_out(active, state):
    assert rows(as_text(places(**active)))["orders"][-2:] == state


def test_a_group_that_lives_in_no_region_any_more_is_never_out_of_place():
    free = places({"orders": FREE}, west="orders", east="orders")
    assert rows(as_text(free))["orders"][0] == "any region"
    (_, orders) = as_values(free)["groups"]
    assert (orders["mode"], orders["primary_region"]) == ("active/active", None)
    assert (orders["previous_region"], orders["is_active_twice"]) == ("west", False)


def test_what_is_not_known_is_never_shown_as_nothing():
    unknown = GroupPlaces("west", None, {}, ("east", "west"), ("orders",), ("Redis: away",))
    text = as_text(unknown)
    assert rows(text)["orders"] == ["?"] * 6
    assert "not known: which groups have members in east, west" in text
    assert "problem: Redis: away" in text
    (orders,) = as_values(unknown)["groups"]
    assert orders["mode"] is None


def test_programs_are_told_all_of_it():
    values = as_values(places(west="orders", east="orders", silent=("south",), problems=("x",)))
    assert (values["schema_version"], values["region"]) == (1, "west")
    assert (values["silent_regions"], values["problems"]) == (["south"], ["x"])
    bills, orders = values["groups"]
    assert orders == {
        "group": "orders",
        "primary_region": "west",
        "generation": 1,
        "decided_at": "1970-01-01T00:00:00+00:00",
        "who": "ann@ops",
        "why": "near the bank",
        "plan_id": None,
        "previous_region": None,
        "mode": "active/passive",
        "active_in": ["east", "west"],
        "out_of_place_in": ["east"],
        "is_active_twice": True,
    }
    assert (bills["mode"], bills["active_in"]) == ("active/active", [])


def test_a_group_that_was_asked_for_is_shown_though_nothing_was_heard_of_it():
    assert set(rows(as_text(places().only(["mails"])))) == {"mails"}
    assert as_text(GroupPlaces("west", {}, {}, (), ())) == "no groups"


def test_members_are_elsewhere_only_where_a_region_is_meant():
    found = places(west="orders", east="orders")
    assert found.elsewhere("orders", "west") == ("east",)
    assert found.elsewhere("orders", None) == ()


def test_what_was_decided_is_told_and_that_no_offsets_were_moved():
    east = decided(WEST, "orders", "east", at_ms=1, who="ann@ops", why="moved")
    decisions = Decisions(
        (Decision("bills", None, is_new=False), Decision("orders", east, is_new=True)),
        ("recorded, but Redis: away",),
    )
    text = decisions_text(decisions)
    assert rows(text) == {
        "bills": ["any region", "-", "as it was"],
        "orders": ["east", "west", "recorded"],
    }
    assert "No offsets were moved" in text and "problem: recorded, but Redis: away" in text
    values = decisions_values(decisions)
    assert values["offsets_moved"] is False
    assert [(it["group"], it["is_new"]) for it in values["groups"]] == [
        ("bills", False),
        ("orders", True),
    ]
