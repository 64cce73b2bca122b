"""Conditions and parked partitions: one cause for each kind, route and topic, with counts."""

from __future__ import annotations

from dataclasses import replace

from replicator.kafka.client.loss import Loss, LossKind
from replicator.notices.condition import Condition
from tests.tui.console.snapshots import NOW_MS, feed, healthy, parked, route, topic
from tui.facts.alert import Level
from tui.facts.condition_causes import condition_causes, parked_causes

WAITS = Condition(
    kind="waiting",
    who="carrier 3 of west>east",
    text="the target refuses: not enough in-sync replicas",
    since_ms=NOW_MS - 60_000,
    route="west>east",
    topic="orders",
    partition=3,
)
PARKED = replace(WAITS, kind="parked", text="retention passed 5 to 9")


def with_conditions(*conditions: Condition):
    return replace(healthy(), conditions=conditions)


def test_the_partitions_of_one_topic_are_one_cause():
    others = [replace(WAITS, partition=n, since_ms=NOW_MS - 1000) for n in (4, 5)]
    (found,) = condition_causes(with_conditions(WAITS, *others))
    assert (found.key, found.region) == ("condition/waiting/west>east/orders/", "east")
    assert found.text == (
        "waiting: west>east orders: 3 partitions, such as the target refuses: not enough in-sync "
        "replicas"
    )
    assert (found.since_ms, found.partition, len(found.rows)) == (NOW_MS - 60_000, None, 3)


def test_one_partition_is_named():
    (found,) = condition_causes(with_conditions(WAITS))
    assert found.text.startswith("waiting: west>east orders-3: the target refuses")
    assert (found.route, found.topic, found.partition) == ("west>east", "orders", 3)
    assert found.level is Level.WARN


def test_a_carrier_that_waits_for_something_else_than_a_cluster_pages():
    waits = replace(WAITS, kind="carrier-waits", topic="", partition=None)
    (found,) = condition_causes(with_conditions(waits))
    assert (found.key, found.level) == ("condition/carrier-waits/west>east//", Level.PAGE)


def test_several_carriers_that_wait_are_counted_as_carriers():
    waits = replace(WAITS, kind="carrier-waits", text="no answer", topic="", partition=None)
    found, *none = condition_causes(
        with_conditions(*(replace(waits, carrier=number) for number in (3, 4)))
    )
    assert found.text == "carrier-waits: west>east: 2 carriers, such as no answer"
    assert not none


def test_conditions_about_a_cluster_and_parked_partitions_are_told_by_others():
    silent = replace(WAITS, kind="source-silent", cluster="west regional", topic="", partition=None)
    assert list(condition_causes(with_conditions(silent, PARKED))) == []


def test_kinds_of_later_versions_warn():
    (found,) = condition_causes(with_conditions(replace(WAITS, kind="new-kind")))
    assert (found.key, found.level) == ("condition/new-kind/west>east/orders/", Level.WARN)


def test_parked_partitions_are_told_once_with_the_command_that_shows_them():
    late = replace(PARKED, partition=4, since_ms=NOW_MS - 1000)
    (found,) = parked_causes(with_conditions(PARKED, late))
    assert (found.key, found.level) == ("parked/west>east/orders/", Level.PAGE)
    assert found.text == "parked: west>east orders: 2 partitions, such as retention passed 5 to 9"
    assert (found.since_ms, found.news_ms) == (NOW_MS - 60_000, NOW_MS - 1000)
    assert found.command == ("accept-loss", "--route", "west>east", "--topic", "orders")


def test_a_partition_that_ledger_and_carrier_call_parked_is_one():
    slow = route("west", "east", (topic("orders", (parked("orders", 3),)),))
    snapshot = replace(with_conditions(PARKED), routes=(slow,))
    (found,) = parked_causes(snapshot)
    assert (found.partition, len(found.rows)) == (3, 1)
    assert found.command[-2:] == ("--partition", "3")
    assert found.since_ms == PARKED.since_ms
    (alone,) = parked_causes(replace(snapshot, conditions=()))
    assert (alone.key, alone.since_ms) == (found.key, None)


def test_parked_partitions_of_a_feed_name_its_cluster():
    (found,) = parked_causes(replace(healthy(), feeds=(feed(),)))
    assert found.key == "parked/ticks/west aggregate/orders/"
    assert (found.feed, found.cluster, found.about) == ("ticks", "west aggregate", ("feed ticks",))
    assert found.command == (
        *("aggregate", "accept-loss", "--feed", "ticks", "--cluster", "west aggregate"),
        *("--topic", "orders", "--partition", "1"),
    )


def test_a_name_that_another_content_has_is_told_with_the_command_that_overwrites():
    loss = Loss(LossKind.OBJECT_TAKEN, 180, 270, "flights+1+180 has 7 bytes; ours 9")
    ticks = feed()
    (stopped,) = [each for each in ticks.partitions if each.parked]
    taken = replace(stopped, parked=str(loss))
    (found,) = parked_causes(replace(healthy(), feeds=(replace(ticks, partitions=(taken,)),)))
    place = ("--topic", "orders", "--partition", "1")
    where = ("--feed", "ticks", "--cluster", "west aggregate", *place)
    assert found.command == ("aggregate", "overwrite", *where)
    (row,) = found.rows
    assert row.startswith("orders-1: the name of an object is taken by another content")
    assert row.endswith(
        "; `sluice aggregate objects --feed ticks --topic orders --partition 1` lists those written"
    )
    # A loader tells it in the same words.
    told = replace(PARKED, route="", feed="ticks", cluster="west aggregate", text=str(loss))
    (found,) = parked_causes(with_conditions(told))
    assert found.command[:2] == ("aggregate", "overwrite")


def test_partitions_with_another_way_out_have_an_alert_of_their_own():
    taken = str(Loss(LossKind.OBJECT_TAKEN, 180, 270))
    told = replace(PARKED, route="", feed="ticks", cluster="west aggregate")
    both = [replace(told, text=taken), replace(told, partition=4)]
    found = [*parked_causes(with_conditions(replace(told, partition=2), *both))]
    assert [(each.key, each.command[1], len(each.rows)) for each in found] == [
        ("parked/ticks/west aggregate/orders/", "accept-loss", 2),
        ("parked/ticks/west aggregate/orders/taken/", "overwrite", 1),
    ]
    assert ["is taken" in each.text for each in found] == [False, True]
    assert ["aggregate objects" in row for each in found for row in each.rows] == [
        *(False, False),
        True,
    ]


def test_a_partition_whose_intent_and_loader_name_other_reasons_is_told_once_by_its_intent():
    ticks = feed()
    (stopped,) = [each for each in ticks.partitions if each.parked]
    taken = replace(stopped, parked=str(Loss(LossKind.OBJECT_TAKEN, 180, 270)))
    told = replace(PARKED, route="", feed="ticks", cluster="west aggregate", partition=1)
    snapshot = replace(with_conditions(told), feeds=(replace(ticks, partitions=(taken,)),))
    (found,) = parked_causes(snapshot)
    assert (found.partition, found.command[1], len(found.rows)) == (1, "overwrite", 1)


def test_a_refusal_of_a_server_is_told_in_the_daemons_words_for_each_cluster():
    text = "topics: replicate may not (denied); grant the right"
    refused = [
        replace(
            WAITS,
            kind="topics-unknown",
            who=f"replicate {region}",
            text=text,
            route="",
            topic="",
            partition=None,
            cluster=f"{region} aggregate",
        )
        for region in ("east", "west")
    ]
    found = list(condition_causes(replace(healthy(), conditions=tuple(refused))))
    assert [each.key for each in found] == [
        "condition/topics-unknown/east aggregate//",
        "condition/topics-unknown/west aggregate//",
    ]
    assert found[0].text == f"topics-unknown: east aggregate: {text}"
