from collections.abc import Mapping
from dataclasses import replace

from balancer.decision import balance_alerts as alerts
from balancer.decision.balance_alerts import AlertName
from balancer.decision.settings import Limits
from balancer.decision.state import Wanted
from tests.balancer.decision.routes import at, even

FIVE = Limits(partitions_max=5)


def only(given):
    [alert] = given
    assert isinstance(alert.evidence, Mapping)
    return alert


def test_a_hot_partition_among_much_lighter_ones_has_skewed_keys():
    shares = even(9, 0.1) | {at(9): 0.9} | even(5, topic="other")
    found = only(alerts.hot_partitions(shares, 0.7))
    assert found.name is AlertName.HOT_PARTITION
    assert "clicks-9 takes 0.90 of a carrier, above 0.70" in found.text
    assert "50% of its topic's traffic" in found.text
    assert "of the 9 others 0 have 0.45 or more" in found.text
    assert "keys are skewed" in found.text
    assert found.evidence == {str(n): 0.1 for n in range(9)} | {"9": 0.9}


def test_hot_partitions_among_others_about_as_heavy_need_more_partitions():
    shares = even(3, 0.9) | {at(3): 0.6}
    given = alerts.hot_partitions(shares, 0.7)
    assert len(given) == 3
    assert all("about as much: add partitions to topic clicks" in alert.text for alert in given)


def test_a_hot_partition_that_is_the_only_one_needs_more_partitions():
    found = only(alerts.hot_partitions({at(0): 0.9}, 0.7))
    assert "only partition: add partitions to topic clicks" in found.text


def test_an_alert_names_the_carriers_that_the_limits_lack():
    found = only(alerts.resize(Wanted(10, 13, 12), {}, None))
    assert found.text == "3 more carriers needed: raise carriers_max"
    assert found.evidence == {"needed": 13, "carriers": 10}
    enough, unknown = (alerts.resize(each, {}, 4) for each in (Wanted(10, 9, 9), None))
    assert enough == unknown == []


def test_carriers_without_task_slots_need_executors():
    found = only(alerts.resize(Wanted(4, 7, 7), {}, 4))
    assert "3 more carriers needed: add executors, as there are 4 task slots" in found.text
    found = only(alerts.resize(Wanted(4, 7, 7), {}, 8))
    assert "executors" not in found.text


def test_an_alert_names_overloaded_carriers():
    found = only(alerts.resize(None, {3: 1.2, 1: 1.4}, 8))
    assert "2 carriers are predicted to carry more than they can, up to 1.40" in found.text
    assert found.evidence == {"carrier 1": 1.4, "carrier 3": 1.2}


def test_without_a_condition_there_is_no_alert():
    assert not alerts.degraded(None) + alerts.frozen(None, 0)
    assert not alerts.executors_fewer(None, 5) + alerts.executors_fewer(5, 5)
    assert not alerts.lagging((), {}) + alerts.doubted({}, {})
    assert not alerts.pins_impossible({}, {}) + alerts.no_room({0: 5}, FIVE)


def test_alerts_give_the_reason_for_unknown_loads_and_for_a_freeze():
    assert "no answer from west" in only(alerts.degraded("no answer from west")).text
    found = only(alerts.frozen("5 of 10 carriers are silent", 120))
    assert found.text.endswith("5 of 10 carriers are silent")
    assert found.evidence == {"seconds": 120}


def test_an_alert_counts_the_task_slots_that_carriers_share():
    found = only(alerts.executors_fewer(3, 5))
    assert found.evidence == {"slots": 3, "carriers": 5, "carriers elsewhere": 0}
    assert found.text.endswith("or lower carriers_max to 3")


def test_carriers_of_other_streams_count_for_the_task_slots():
    found = only(alerts.executors_fewer(6, 5, elsewhere=2))
    assert "5 carriers, and 2 of other streams, share 6 task slots" in found.text
    assert not alerts.executors_fewer(7, 5, elsewhere=2)
    lacking = only(alerts.resize(Wanted(4, 7, 7), {}, 6, elsewhere=2))
    assert "add executors" in lacking.text


def test_an_alert_names_some_lagging_partitions_and_has_all_as_evidence():
    lag = {at(n): 40.0 + n for n in range(9)}
    found = only(alerts.lagging(tuple(lag), lag))
    assert "9 partitions are behind, by up to 48 s: clicks-0" in found.text
    assert found.text.endswith("clicks-4 and 4 more")
    assert len(found.evidence) == 9


def test_an_alert_gives_the_reason_why_a_rate_was_not_believed():
    found = only(alerts.doubted({at(1): "it is negative"}, {at(1): 0.5}))
    assert found.text.endswith("clicks-1; clicks-1: it is negative")
    assert found.evidence == {"clicks-1": 0.5}


def test_an_alert_gives_the_reason_why_a_pin_is_impossible():
    pins = {at(0): 7, at(1): 3}
    found = only(alerts.pins_impossible(pins, {3: "a bad disk"}))
    assert "clicks-0: there is no carrier 7" in found.text
    assert "clicks-1: carrier 3 is excluded (a bad disk)" in found.text


def test_an_alert_names_carriers_above_partitions_max():
    found = only(alerts.no_room({0: 7, 1: 5, 2: 6}, FIVE))
    assert found.text.startswith("3 partitions are on carriers that already hold 5")
    assert found.text.endswith("raise carriers_max or partitions_max")
    assert found.evidence == {"carrier 0": 7, "carrier 2": 6}


def test_an_alert_names_memory_mib_when_memory_is_the_limit():
    by_memory = replace(FIVE, room_setting="memory_mib")
    text = only(alerts.no_room({0: 7}, by_memory)).text
    assert "the most that memory_mib allows" in text and "partitions_max" not in text
