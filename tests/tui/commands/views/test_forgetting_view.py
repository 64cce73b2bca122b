"""Output of `sluice aggregate forget`."""

from dataclasses import replace

from aggregator.objects.forgotten import Log
from tests.aggregator.restore.told import told
from tui.commands.views.forgetting_view import as_text, as_values
from tui.facts.feed_objects import DroppedObjects, Forgetting

OBJECTS = [
    replace(told(0, 10), told_at_ms=1_700_000_000_000),
    replace(told(10, 15, left_out=5), told_at_ms=1_700_000_001_000, size_bytes=0),
    replace(told(20, 40, left_out=1), told_at_ms=1_700_000_009_000),
]
DROPPED = DroppedObjects.of(Log.of(OBJECTS[0]), OBJECTS)


def test_dropped_objects_are_counted_by_log(assert_snapshot):
    assert_snapshot(as_text(Forgetting((DROPPED,), is_done=False)), "forgetting")
    assert as_text(Forgetting((DROPPED,), is_done=True)).endswith("\n\nforgotten")
    assert (
        as_text(Forgetting((), is_done=True))
        == "nothing to forget: the bucket has all objects of this age that the feed has passed"
    )


def test_values_have_the_same():
    found = as_values(Forgetting((DROPPED,), is_done=True))
    assert found["is_done"]
    (value,) = found["forgotten"]
    assert (value["objects"], value["records"], value["size_bytes"]) == (2, 29, 2000)
    assert (value["begin"], value["end"]) == (0, 40)
    assert value["first_told_at"] == "2023-11-14T22:13:20Z"
