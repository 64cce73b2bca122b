"""Alerts of silent carriers and of topics without progress: one for each, with an example."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replicator.notices.acknowledgement import Acknowledgement
from tests.tui.console.snapshots import NOW, NOW_MS, healthy, parked, partition, route, topic
from tui.facts.alert import Alert, AlertState, Level
from tui.facts.alert_rules import NO_LOOK, next_look
from tui.facts.carrier_causes import carrier_causes
from tui.facts.health import Health
from tui.facts.part import Part
from tui.facts.region_view import DaemonView
from tui.facts.route_view import PartitionView, SilentCarrier
from tui.facts.snapshot import Snapshot
from tui.pages.alert import cause_page
from tui.pages.partitions import PartitionsPage

SILENT = "carrier 3 on repl-c has said nothing for 18 s"
CARRIER = SilentCarrier(number=3, host="repl-c", heard_at=NOW - 18)
STILL = "no progress for 40 s"


def unknown(name: str, number: int, silent: SilentCarrier | None = CARRIER) -> PartitionView:
    found = partition(name, number, lag=120)
    return replace(
        found,
        state=Health.UNKNOWN,
        why=SILENT,
        silent_carrier=silent,
        carrier=None,
        host=None,
    )


def stalled(number: int) -> PartitionView:
    return replace(partition("orders", number, lag=120), state=Health.STALLED, why=STILL)


def with_partitions(*parts: PartitionView) -> Snapshot:
    names = dict.fromkeys(part.topic for part in parts)
    topics = [topic(name, tuple(part for part in parts if part.topic == name)) for name in names]
    return replace(healthy(), balance=(), routes=(route("west", "east", tuple(topics)),))


def test_a_carrier_that_says_nothing_is_one_cause_for_all_its_partitions_of_a_route():
    found = with_partitions(unknown("orders", 3), unknown("orders", 4), unknown("trades", 0))
    (cause,) = carrier_causes(found)
    assert (cause.key, cause.region, cause.level) == ("carrier/west>east/3", "east", Level.WARN)
    assert cause.text == (
        "carrier 3 on repl-c says nothing about 3 partitions of west>east with lag, such as "
        "orders-3"
    )
    assert cause.rows[2] == f"trades-0: {SILENT}"


def test_each_carrier_has_a_cause_and_one_partition_is_named():
    other = unknown("orders", 4, SilentCarrier(number=12, heard_at=NOW - 20))
    first, second = carrier_causes(with_partitions(unknown("orders", 3), other))
    assert first.text == (
        "carrier 3 on repl-c says nothing about west>east orders-3, which has lag"
    )
    assert second.key == "carrier/west>east/12"
    assert second.text == "carrier 12 says nothing about west>east orders-4, which has lag"


def test_a_carrier_that_moved_to_another_host_is_one_cause():
    moved = unknown("orders", 4, replace(CARRIER, host="repl-d"))
    (cause,) = carrier_causes(with_partitions(unknown("orders", 3), moved))
    assert cause.key == "carrier/west>east/3"


def test_a_carrier_of_which_nobody_knows_the_name_is_told_once_the_lag_has_a_past():
    lost = unknown("orders", 3, SilentCarrier())
    (cause,) = carrier_causes(with_partitions(lost))
    assert cause.key == "carrier/west>east/none"
    assert cause.text == "no carrier reports on west>east orders-3, which has lag"
    assert list(carrier_causes(with_partitions(replace(lost, lag_per_second=None)))) == []


def test_partitions_without_progress_are_one_cause_for_each_topic():
    (cause,) = carrier_causes(with_partitions(stalled(3), stalled(4), partition("orders", 5)))
    assert (cause.key, cause.extent) == ("stalled/west>east/orders/", 2)
    assert cause.text == (
        "stalled: west>east orders: 2 partitions with lag make no progress, such as orders-3"
    )
    (one,) = carrier_causes(with_partitions(stalled(3)))
    assert one.text == "stalled: west>east orders-3 has lag and makes no progress"


@pytest.mark.parametrize("state", [Health.PAUSED, Health.WAITS, Health.BEHIND, Health.OK])
def test_other_states_are_no_such_cause(state: Health):
    assert list(carrier_causes(with_partitions(replace(stalled(3), state=state)))) == []


def test_parked_partitions_and_those_of_a_silent_server_are_told_by_others():
    redis = unknown("orders", 3, silent=None)
    assert list(carrier_causes(with_partitions(redis, parked("orders", 4)))) == []
    found = with_partitions(unknown("orders", 3), stalled(4))
    east, west = found.regions
    assert (
        list(carrier_causes(replace(found, regions=(east, replace(west, regional="silent"))))) == []
    )
    assert (
        list(carrier_causes(replace(found, regions=(replace(east, aggregate="silent"), west))))
        == []
    )


def test_carriers_of_a_missing_daemon_are_told_with_it():
    found = with_partitions(unknown("orders", 3))
    east, west = found.regions
    missing = replace(east, daemons=(DaemonView(role="replicate", state="missing"),))
    assert list(carrier_causes(replace(found, regions=(missing, west)))) == []


def alert_of(snapshot: Snapshot, *given: Acknowledgement) -> Alert:
    (alert,) = next_look(NO_LOOK, snapshot, given, NOW).alerts
    return alert


@pytest.mark.parametrize("part", [unknown("orders", 3), stalled(3)])
def test_enter_leads_to_the_partition(part: PartitionView):
    found = with_partitions(part, partition("orders", 4))
    assert cause_page(found, alert_of(found)) == PartitionsPage("west>east", "orders", 3)


def test_an_acknowledgement_counts_until_more_partitions_are_stalled():
    key = "stalled/west>east/orders/"
    given = Acknowledgement(key=key, who="ann@ops", why="seen", at_ms=NOW_MS - 1000, extent=1)
    assert alert_of(with_partitions(stalled(3)), given).state is AlertState.ACKNOWLEDGED
    assert alert_of(with_partitions(stalled(3), stalled(4)), given).state is AlertState.OPEN


def test_an_acknowledged_carrier_stays_so_with_more_partitions():
    key = "carrier/west>east/3"
    given = Acknowledgement(key=key, who="ann@ops", why="seen", at_ms=NOW_MS - 1000)
    more = with_partitions(unknown("orders", 3), unknown("orders", 4))
    assert alert_of(more, given).state is AlertState.ACKNOWLEDGED


def test_the_alert_goes_on_while_the_redis_with_the_reports_is_silent_and_then_ends():
    before = next_look(NO_LOOK, with_partitions(unknown("orders", 3)), (), NOW)
    calm = with_partitions(partition("orders", 3))
    silent = Part(server="east Redis", about="reports", asked_at=NOW, problem="refused")
    on = next_look(before, replace(calm, parts=(*calm.parts, silent)), (), NOW + 1)
    assert [each.state for each in on.alerts if each.kind == "carrier"] == [AlertState.OPEN]
    off = next_look(before, calm, (), NOW + 1)
    assert [each.state for each in off.alerts] == [AlertState.RESOLVED]
