"""Output of `sluice stream list`, for people and programs."""

from tests.tui.balance_records import NOW_MS, ROUTE, active_plan, log_of, placed, stream
from tui.commands.views.stream_view import as_text, as_values, matching_text
from tui.facts.streams import stream_summaries

ORDER_LOG = log_of(stream(threshold=0.5), placed(), placed(stream="money", first=1000))


def listed(driver=None):
    return list(stream_summaries((ROUTE,), ORDER_LOG, driver, NOW_MS))


def test_values_say_which_topics_belong_to_each_stream_now_and_which_carriers_it_has():
    money, default = as_values("east", listed(active_plan()))["streams"]
    assert money == {
        "route": "west>east",
        "stream": "money",
        "topics": ["pay.*"],
        "is_paused": False,
        "first_carrier": 1000,
        "carriers": [1000, 1001],
        "limits": {"threshold": 0.5},
        "matching": {"pay": 1},
        "who": "ann@ops",
        "why": "w",
        "at": "2027-01-15T07:59:00Z",
    }
    assert (default["stream"], default["topics"], default["matching"]) == (
        "default",
        None,
        {"orders": 3},
    )


def test_without_an_active_plan_the_topics_are_not_known_and_the_streams_are():
    money, _ = as_values("east", listed())["streams"]
    assert (money["matching"], money["carriers"]) == (None, [1000, 1001])
    assert as_text(listed()).splitlines()[1].split()[3] == "?"


def test_people_see_one_line_for_each(assert_snapshot):
    assert_snapshot(as_text(listed(active_plan())), "streams")


def test_of_many_topics_the_first_are_named():
    assert matching_text({}) == "-"
    assert matching_text(dict.fromkeys("edcba", 1)) == "a b c and 2 more"
