"""`sluice groups` without servers: refusals before a server is contacted, and what is printed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from replicator.groups.membership.primary_region import PrimaryRegion, decided
from replicator.kafka.tail.compacted_topic import WriteUnknown
from tests.tui.commands.test_replicate import CONFIG
from tests.tui.output.groups import view
from tui.commands.exit_codes import ExitCode, exit_code_of
from tui.commands.groups import (
    PrimaryChange,
    PrimaryChanges,
    changes_text,
    changes_values,
    groups_text,
    record_of,
)
from tui.commands.output import plain_values
from tui.facts.group_view import GroupList, GroupView
from tui.program import run

REASON = ["--reason", "why"]
WEST = decided(None, "orders", "west", at_ms=0, who="ann@ops", why="near the bank")
FREE = decided(WEST, "orders", None, at_ms=60_000, who="bob@ops", why="both", plan_id="p1")


def listed(*members: str, record: PrimaryRegion | None = WEST, bills: str = "") -> GroupList:
    """Returns the group orders with members in these regions, and bills, which has no record."""
    groups = view("bills", *bills.split(), record=None), view("orders", *members, record=record)
    return GroupList(region="west", groups=groups)


@pytest.fixture
def config(tmp_path) -> str:
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    return str(file)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["orders", "--to", "west"], "--reason"),
        (["orders", "--to", "west", "--reason", " "], "--reason is empty"),
        (["--to", "west", *REASON], "GROUP"),
        (["orders", *REASON], "either --to REGION or --any-region"),
        (["orders", "--to", "west", "--any-region", *REASON], "either --to REGION or --any-region"),
        (["orders", "--any-region", *REASON], "needs --region"),
        (["orders", "--to", "nowhere", *REASON], "no region 'nowhere'"),
        (["orders", "--to", "west", "--region", "nowhere", *REASON], "no region 'nowhere'"),
        (["orders", "sluice.commits", "--to", "west", *REASON], "own, which live where they are"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, options, message):
    assert run(["groups", "set-primary", "--config", config, *options]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_a_region_that_is_not_there_cannot_be_asked(config, capsys):
    assert run(["groups", "show", "--config", config, "--region", "nowhere"]) == ExitCode.USAGE
    assert "no region 'nowhere'" in capsys.readouterr().err


def test_servers_that_refuse_are_problems_and_nothing_is_said_to_be_known(config, capsys):
    arguments = ["groups", "show", "--config", config, "--region", "west", "--timeout", "2"]
    code = run([*arguments, "--group", "orders", "-o", "json"])
    assert code == ExitCode.UNREACHABLE
    found = json.loads(capsys.readouterr().out)
    assert sorted(it.split(":")[0] for it in found["problems"]) == [
        "Redis at redis",
        "east aggregate",
        "west aggregate",
    ]
    assert found["silent_regions"] == ["west", "east"]
    (orders,) = found["groups"]
    assert (orders["group"], orders["has_record"], orders["unknown"]) == (
        "orders",
        None,
        ["east", "west"],
    )
    set_primary = ["groups", "set-primary", "orders", "--to", "west", *REASON]
    assert run([*set_primary, "--config", config, "--timeout", "2"]) == ExitCode.UNREACHABLE
    assert "what was decided before is not known" in capsys.readouterr().err


def test_a_write_whose_answer_was_lost_is_an_unknown_result():
    assert exit_code_of(WriteUnknown("west aggregate", "lost")) is ExitCode.RESULT_UNKNOWN


def test_a_group_is_shown_with_its_region_operator_and_reason(assert_snapshot):
    assert_snapshot(groups_text(listed("west", bills="east")), "groups")


@pytest.mark.parametrize(
    ("members", "name"),
    [
        (["east"], "groups_out_of_place"),
        (["east", "west"], "groups_active_twice"),
        ([], "groups_without_members"),
    ],
)
def test_a_group_that_is_not_in_its_place_stands_out(assert_snapshot, members, name):
    assert_snapshot(groups_text(listed(*members)), name)


def test_a_group_that_lives_in_no_region_any_more_is_never_out_of_place(assert_snapshot):
    free = listed("east", "west", record=FREE)
    assert_snapshot(groups_text(free), "groups_any_region")
    (_, orders) = plain_values(free)["groups"]
    assert (orders["has_record"], orders["primary"], orders["previous"]) == (True, None, "west")
    assert not orders["is_active_twice"]


def test_what_is_not_known_is_never_shown_as_nothing(assert_snapshot):
    silent = "east", "west"
    unknown = GroupList(
        region="west",
        groups=(GroupView(group="orders", unknown=silent),),
        silent_regions=silent,
        problems=("Redis: away",),
    )
    assert_snapshot(groups_text(unknown), "groups_unknown")
    (orders,) = plain_values(unknown)["groups"]
    assert orders["has_record"] is None


def test_programs_read_groups_as_in_status():
    found = replace(listed("east", "west"), silent_regions=("south",), problems=("x",))
    values = plain_values(found)
    assert (values["schema_version"], values["region"]) == (2, "west")
    assert (values["silent_regions"], values["problems"]) == (["south"], ["x"])
    bills, orders = values["groups"]
    assert orders == {
        "group": "orders",
        "primary": "west",
        "has_record": True,
        "members": ["east", "west"],
        "unknown": [],
        "is_out_of_place": True,
        "is_active_twice": True,
        "lag": {},
        "partitions": None,
        "topics": [],
        "copies_age_seconds": None,
        "decided_at_ms": 0,
        "who": "ann@ops",
        "why": "near the bank",
        "plan_id": None,
        "generation": 1,
        "previous": None,
        "type": None,
    }
    assert (bills["has_record"], bills["members"]) == (False, [])


def test_without_groups_that_is_said():
    assert groups_text(GroupList(region="west", groups=())) == "no group is known"


def test_changes_are_shown_with_the_remark_that_no_offsets_were_moved(assert_snapshot):
    east = decided(WEST, "orders", "east", at_ms=1, who="ann@ops", why="moved")
    changes = PrimaryChanges(
        (PrimaryChange("bills", None, is_new=False), PrimaryChange("orders", east, is_new=True)),
        ("recorded, but Redis: away",),
    )
    assert_snapshot(changes_text(changes), "primary_changes")
    values = changes_values(changes)
    assert values["offsets_moved"] is False
    assert [(it["group"], it["is_new"]) for it in values["groups"]] == [
        ("bills", False),
        ("orders", True),
    ]


def test_a_time_that_no_calendar_has_is_unknown():
    absurd = replace(WEST, at_ms=10**18)
    assert "?" in groups_text(listed("west", record=absurd))
    changes = PrimaryChanges((PrimaryChange("orders", absurd, is_new=False),))
    assert changes_values(changes)["groups"][0]["record"]["at_ms"] == 10**18


@pytest.mark.parametrize("record", [WEST, FREE, None])
def test_a_change_is_of_the_record_that_is_shown(record):
    assert record_of(view("orders", record=record)) == record
