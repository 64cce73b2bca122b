"""`sluice aggregate objects`, without servers."""

from __future__ import annotations

import pytest

from aggregator.objects.forgotten import Forgotten, Log
from aggregator.s3.object_listing import Difference
from tests.aggregator.objects.test_told_objects import TOLD
from tests.tui.commands.test_aggregate import config, no_configuration
from tui.commands.aggregate_objects import objects_text, objects_values
from tui.commands.exit_codes import ExitCode
from tui.facts.feed_objects import ObjectListing
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures
LOST = Difference(TOLD.key, "is not there", is_missing=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--feed"),
        (["--feed", "x"], "no feed 'x'; known: flights"),
        (["--feed", "flights"], "feed flights has no objects: its kind is clickhouse"),
        (["--feed", "flights", "--partition", "1"], "--partition needs --topic"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    assert run(["aggregate", "objects", "--config", config, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_objects_are_shown_with_their_offsets(assert_snapshot):
    assert_snapshot(objects_text(ObjectListing((TOLD,))), "objects")
    assert objects_text(ObjectListing(())) == "no object is told of"


def test_the_answer_of_the_store_stands_below():
    assert objects_text(ObjectListing((TOLD,), ())).endswith("\n\nthe store has all of them")
    shown = objects_text(ObjectListing((TOLD,), (LOST,)))
    assert shown.endswith(f"\n\ndiffers: {TOLD.key}: is not there")


def test_values_have_the_same():
    found = objects_values(ObjectListing((TOLD,), (LOST,)))
    assert found["objects"][0]["begin"] == 180
    lost = {"key": TOLD.key, "text": "is not there", "is_missing": True}
    assert found["differences"] == [lost]
    assert objects_values(ObjectListing((TOLD,)))["differences"] is None


def test_forgotten_objects_are_named_by_their_offsets():
    log = Log.of(TOLD)
    forgotten = Forgotten(log).with_objects([TOLD], 1)
    listing = ObjectListing((), forgotten=(forgotten,))
    assert objects_text(listing) == (
        "no object is told of\n\n"
        "forgotten: flights-3 in east: 88 records of 1 objects, offsets 180 to 269"
    )
    (value,) = objects_values(listing)["forgotten"]
    assert (value["partition"], value["begin"], value["end"], value["objects"]) == (3, 180, 270, 1)
    later = Forgotten(log._replace(incarnation=7)).with_objects([TOLD], 1)
    assert "in east, log 7: " in objects_text(ObjectListing((), forgotten=(later,)))
