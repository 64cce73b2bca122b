"""Output of `sluice aggregate check`."""

from tui.commands.views.feed_check_view import as_text, as_values
from tui.facts.feed_findings import FeedCheck, Finding

MISTAKE = Finding("air.flights", "is missing on one: its records are set aside")
REMARK = Finding("air.delays", "recognizes 100 blocks", is_mistake=False)
CHECK = FeedCheck(("delays", "flights"), (REMARK, MISTAKE), ("ClickHouse at two: away",))


def test_mistakes_come_first_and_problems_last(assert_snapshot):
    assert_snapshot(as_text(CHECK), "feed_check")


def test_feeds_without_mistakes_are_ok_with_their_remarks():
    assert as_text(FeedCheck(("flights",), (), ())) == "ok: flights"
    remarked = as_text(FeedCheck(("flights",), (REMARK,), ()))
    assert "remark" in remarked and remarked.endswith("\n\nok: flights")


def test_values_say_whether_all_is_well():
    assert as_values(CHECK) == {
        "ok": False,
        "feeds": ["delays", "flights"],
        "findings": [
            {"where": "air.delays", "text": "recognizes 100 blocks", "is_mistake": False},
            {"where": "air.flights", "text": MISTAKE.text, "is_mistake": True},
        ],
        "problems": ["ClickHouse at two: away"],
    }
    assert as_values(FeedCheck(("flights",), (REMARK,), ()))["ok"] is True
