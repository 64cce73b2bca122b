"""Output of `sluice aggregate objects`."""

from aggregator.objects.forgotten import Forgotten, Log
from aggregator.s3.object_listing import Difference
from tests.aggregator.objects.test_told_object import TOLD
from tui.commands.views.objects_view import as_text, as_values
from tui.facts.feed_objects import ObjectListing

LOST = Difference(TOLD.key, "is not there", is_missing=True)


def test_objects_are_shown_with_their_offsets(assert_snapshot):
    assert_snapshot(as_text(ObjectListing((TOLD,))), "objects")
    assert as_text(ObjectListing(())) == "no object is told of"


def test_the_answer_of_the_store_stands_below():
    assert as_text(ObjectListing((TOLD,), ())).endswith("\n\nthe store has all of them")
    shown = as_text(ObjectListing((TOLD,), (LOST,)))
    assert shown.endswith(f"\n\ndiffers: {TOLD.key}: is not there")


def test_values_have_the_same():
    found = as_values(ObjectListing((TOLD,), (LOST,)))
    assert found["objects"][0]["begin"] == 180
    lost = {"key": TOLD.key, "text": "is not there", "is_missing": True}
    assert found["differences"] == [lost]
    assert as_values(ObjectListing((TOLD,)))["differences"] is None


def test_forgotten_objects_are_named_by_their_offsets():
    log = Log.of(TOLD)
    forgotten = Forgotten(log).with_objects([TOLD], 1)
    listing = ObjectListing((), forgotten=(forgotten,))
    assert as_text(listing) == (
        "no object is told of\n\n"
        "forgotten: flights-3 in east: 88 records of 1 objects, offsets 180 to 269"
    )
    (value,) = as_values(listing)["forgotten"]
    assert (value["partition"], value["begin"], value["end"], value["objects"]) == (3, 180, 270, 1)
    later = Forgotten(log._replace(incarnation=7)).with_objects([TOLD], 1)
    assert "in east, log 7: " in as_text(ObjectListing((), forgotten=(later,)))
