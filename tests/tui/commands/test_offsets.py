"""`sluice offsets` without servers: mistakes, and the output of its commands."""

from pathlib import Path

import pytest

from replicator.groups.offset_sync import daemon
from replicator.mirror.offset_map.read_back import ReadBack
from tui.commands.exit_codes import ExitCode
from tui.commands.offsets import RegionCopy, copies_text, rebuilt_text, rebuilt_values
from tui.commands.output import plain_values
from tui.program import run

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")
COPIES = [
    RegionCopy("west", "commits", 0.31, groups=12),
    RegionCopy("west", "runs east>west", None, partitions=3, runs=400),
    RegionCopy("west", "runs west>west", 1.0, partitions=3, runs=None),
]
READ_BACK = [
    ReadBack("west>east", 12, 3400, 1_200_000, None),
    ReadBack("east>east", 0, 0, 0, "no runs topic"),
]


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch):
    monkeypatch.delenv("SLUICE_CONFIG", raising=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--config"),
        (["--config", REFERENCE], "--region"),
        (["--config", REFERENCE, "--region", "north"], "no region 'north'"),
        (["rebuild", "--config", REFERENCE], "--region"),
        (["rebuild", "--config", REFERENCE, "--region", "north"], "no region 'north'"),
        (
            ["rebuild", "--config", REFERENCE, "--region", "west", "--route", "west>east"],
            "route west>east does not lead into region west",
        ),
        (["show", "--region", "west"], "--config"),
        (["--config", REFERENCE, "--region", "north", "show"], "no region 'north'"),
    ],
)
def test_a_mistake_ends_it_with_2_and_is_named(arguments, message, capsys):
    assert run(["offsets", *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_without_a_command_it_is_the_daemon(monkeypatch):
    monkeypatch.setattr(daemon, "run", lambda *given: 40 + (given == (REFERENCE, "east")))
    assert run(["offsets", "--config", REFERENCE, "--region", "east"]) == 41


def test_what_is_unknown_is_a_question_mark_and_what_there_is_none_of_is_empty(assert_snapshot):
    assert_snapshot(copies_text(COPIES), "offsets_copies")


def test_values_have_null_for_both():
    assert plain_values(COPIES)[1] == {
        "region": "west",
        "of": "runs east>west",
        "age_seconds": None,
        "groups": None,
        "partitions": 3,
        "runs": 400,
    }


def test_each_route_has_a_row_and_an_incomplete_one_its_reason(assert_snapshot):
    assert_snapshot(rebuilt_text(READ_BACK), "offsets_rebuild")
    complete, missing = rebuilt_values(READ_BACK)
    assert (complete["complete"], complete["trouble"]) == (True, None)
    assert (missing["complete"], missing["trouble"]) == (False, "no runs topic")
