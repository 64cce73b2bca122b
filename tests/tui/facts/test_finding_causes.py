"""Causes in what was looked at: balance, copies, groups, audits, the verifier."""

from __future__ import annotations

from dataclasses import replace

from replicator.audit.kept_audit import KeptAudit, KeptRow
from tests.tui.console.snapshots import NOW, NOW_MS, balance, groups, healthy
from tests.tui.facts.test_anomaly import anomaly
from tui.facts.alert import Level
from tui.facts.balancing import BalanceAlert
from tui.facts.finding_causes import (
    anomaly_causes,
    audit_causes,
    balance_causes,
    copies_causes,
    group_causes,
)
from tui.facts.part import Part

AUDIT = KeptAudit(
    route="west>east",
    at_ms=NOW_MS - 60_000,
    since_ms=NOW_MS - 660_000,
    until_ms=NOW_MS - 60_000,
    by="count",
    who="ann@ops",
    counts={"missing": 1, "equal": 7},
    rows=(KeptRow(topic="orders", partition=3, verdict="missing", missing=2, examples=("at 5",)),),
)
CLEAN = replace(AUDIT, counts={"equal": 8}, rows=())


def with_alerts(*found: BalanceAlert):
    view = balance("west")
    (stream,) = view.streams
    return replace(healthy(), balance=(replace(view, streams=(replace(stream, alerts=found),)),))


def test_a_hot_partition_is_named_with_its_advice():
    (found,) = balance_causes(
        with_alerts(BalanceAlert(name="hot partition", text="orders-17 takes 0.84 of a carrier"))
    )
    assert found.key == "balance/hot partition/east>west/default/"
    assert found.text == "hot partition: orders-17 takes 0.84 of a carrier"
    assert (found.topic, found.partition, found.level) == ("orders", 17, Level.WARN)
    assert found.command[:4] == ("balance", "partitions", "--route", "east>west")


def test_alerts_of_one_name_in_a_stream_are_one_cause():
    (found,) = balance_causes(
        with_alerts(
            *(BalanceAlert(name="hot partition", text=f"orders-{n} takes 1") for n in (1, 2))
        )
    )
    assert found.text == "hot partition: 2 in east>west, such as orders-1 takes 1"
    assert (found.partition, len(found.rows)) == (None, 2)


def test_alerts_of_a_round_that_does_not_count_any_more_are_no_cause():
    snapshot = with_alerts(BalanceAlert(name="no room", text="x"))
    (view,) = snapshot.balance
    old = replace(view, streams=(replace(view.streams[0], is_current=False),))
    assert list(balance_causes(replace(snapshot, balance=(old,)))) == []


def test_carriers_without_room_page():
    (found,) = balance_causes(
        with_alerts(BalanceAlert(name="no room", text="2 partitions are on ..."))
    )
    assert (found.level, found.topic) == (Level.PAGE, None)


def test_copies_warn_beyond_the_age_at_which_a_failovers_check_warns():
    found = healthy()
    east, west = found.regions
    assert list(copies_causes(found)) == []
    old = replace(found, regions=(east, replace(west, copies_age_seconds=61.0)))
    (cause,) = copies_causes(old)
    assert (cause.key, cause.region, cause.level) == ("copies/west", "west", Level.WARN)
    assert cause.command == ("offsets", "show", "--region", "west")


def test_an_unknown_age_of_copies_counts_once_redis_was_asked_for_it():
    found = healthy()
    east, west = found.regions
    unknown = replace(found, regions=(east, replace(west, copies_age_seconds=None)))
    assert list(copies_causes(unknown)) == []
    part = Part(server="west Redis", about="groups", asked_at=NOW)
    (cause,) = copies_causes(replace(unknown, parts=(part,)))
    assert "a failover to west is blocked" in cause.text


def test_groups_out_of_place_are_one_cause_for_each_primary_region():
    names = [f"g{n}" for n in range(5)]
    away = [replace(groups()[1], group=name) for name in names]
    (found,) = group_causes(replace(healthy(), groups=(*groups()[:1], *away)))
    assert (found.key, found.region) == ("group/east", "east")
    assert found.text == "5 groups have members outside of east: g0, g1, g2 and 2 more"
    assert found.about == tuple(f"group {name}" for name in names)
    assert found.rows[0] == "g0: primary east, members in east, west"
    assert list(group_causes(replace(healthy(), groups=None))) == []


def test_only_the_newest_audit_of_a_route_counts():
    def of(*audits):
        return list(audit_causes(replace(healthy(), audits=audits)))

    assert of(CLEAN, replace(AUDIT, at_ms=1)) == []
    older = replace(AUDIT, at_ms=NOW_MS - 120_000)
    clean = replace(CLEAN, at_ms=NOW_MS - 180_000)
    (found,) = of(AUDIT, older, clean, replace(AUDIT, at_ms=1))
    assert (found.since_ms, found.news_ms) == (older.at_ms, AUDIT.at_ms)
    assert (found.level, found.key, found.topic) == (Level.PAGE, "audit/west>east", "orders")


def test_a_failed_audit_shows_its_rows_and_the_audit_that_goes_deeper():
    (found,) = audit_causes(replace(healthy(), audits=(AUDIT,)))
    assert found.text == "audit of west>east: partitions: 1 missing, 7 equal"
    assert found.rows == ("orders-3: missing: 2 missing; at 5",)
    assert found.command == (
        *("audit", "--route", "west>east", "--topic", "orders"),
        *("--since", "2026-11-21T13:51:31Z", "--until", "2026-11-21T14:01:31Z"),
        *("--partitions", "--by", "bytes"),
    )


def test_an_audit_that_could_not_compare_warns():
    nothing = replace(AUDIT, counts={}, rows=(), problems=("west regional: no answer",))
    (found,) = audit_causes(replace(healthy(), audits=(nothing,)))
    assert (found.level, found.rows) == (Level.WARN, ("west regional: no answer",))
    assert found.text == "audit of west>east compared nothing: west regional: no answer"


def test_anomalies_of_one_kind_and_owner_are_one_cause_with_both_entries():
    one = anomaly(at_ms=NOW_MS - 5000)
    other = anomaly(at_ms=NOW_MS - 9000, partition=4)
    (found,) = anomaly_causes(replace(healthy(), anomalies=(one, other)), NOW)
    assert found.key == "verify/gap/feed flights/west regional/"
    assert (found.since_ms, found.news_ms, found.partition) == (NOW_MS - 9000, NOW_MS - 5000, None)
    assert "2 partitions, such as flights-3: gap: table departures" in found.text
    assert found.rows[0] == "flights-3 in west regional at 2026-11-21T14:02:26Z"
    assert found.rows[2] == "  before: none"
    assert found.command == (
        *("verify", "check", "--region", "west", "--since", "2026-11-21T14:01:22Z"),
    )


def test_accepted_losses_and_anomalies_of_another_day_are_no_cause():
    (finding,) = anomaly().findings
    accepted = replace(anomaly(at_ms=NOW_MS), findings=(replace(finding, weight="accepted"),))
    old = anomaly(at_ms=NOW_MS - 90_000_000)
    assert list(anomaly_causes(replace(healthy(), anomalies=(accepted, old)), NOW)) == []
    assert list(anomaly_causes(replace(healthy(), anomalies=None), NOW)) == []
