"""Output of `sluice balance partitions`, for people and programs."""

import pytest

from balancer.demand.demand import Basis
from replicator.config.topology import Route
from replicator.placement.rounds.partition_need import PartitionNeed
from replicator.placement.rounds.preview import Preview
from replicator.placement.rounds.stream_round import Outcome
from tests.tui.balance_records import ROUTE, status
from tests.tui.output import balancing
from tests.tui.output.balancing import UNSEEN, need
from tui.commands.balance_partitions import (
    SHOWN_MAX,
    Needs,
    NotCarried,
    check_topic_carried,
    needs_text,
    needs_values,
    selected_previews,
)
from tui.facts.streams import UnknownStream

PREVIEW = balancing.needs().previews[0]


def needs(*found: PartitionNeed, topic: str | None = None, carried: int = 3, **fields) -> Needs:
    outcome = Outcome(status(**{"degraded": None, **fields}))
    return Needs("east", (Preview(ROUTE, "default", 3, outcome, {}, found, carried),), topic)


def test_people_see_load_traffic_lag_and_by_what_it_is_known(assert_snapshot):
    assert_snapshot(needs_text(needs(need(), UNSEEN)), "partition_needs")


def test_the_generation_is_the_one_whose_carriers_are_shown():
    found = needs(need(), carried=2)
    (stream,) = needs_values(found)["streams"]
    assert (stream["generation"], stream["placed_generation"]) == (2, 3)
    (line, *_) = needs_text(found).splitlines()
    assert line == "west>east: 1 partitions, generation 2; the driver is yet to follow 3"
    # The driver may follow a placement that is newer than those that were read.
    (line, *_) = needs_text(needs(need(), carried=4)).splitlines()
    assert line == "west>east: 1 partitions, generation 4"


def test_values_have_null_for_what_is_not_known():
    (stream,) = needs_values(needs(need(), UNSEEN))["streams"]
    first, second = stream["partitions"]
    assert (first["expected_bytes_per_second"], first["basis"]) == (2_000_000.4, "measured")
    unknown = ("carrier", "expected_records_per_second", "lag_records", "lag_seconds")
    assert [second[name] for name in unknown] == [None] * 4


def test_the_heaviest_of_many_partitions_are_shown_unless_all_are_asked_for():
    many = needs(*map(need, range(SHOWN_MAX + 5)))
    assert f"{SHOWN_MAX} of {SHOWN_MAX + 5}, the heaviest; --all" in needs_text(many)
    assert len(needs_text(many).splitlines()) == SHOWN_MAX + 4
    assert len(needs_text(many, all_partitions=True).splitlines()) == SHOWN_MAX + 5 + 3


def test_only_a_topic_that_is_asked_for_is_shown():
    found = needs(need(), need(topic="clicks"), topic="clicks")
    (stream,) = needs_values(found)["streams"]
    assert [it["topic"] for it in stream["partitions"]] == ["clicks"]
    assert "orders" not in needs_text(found)


def test_a_log_that_was_not_looked_at_lately_is_named_as_such(assert_snapshot):
    text = needs_text(needs(need(is_fresh=False), need(1, is_fresh=False, basis=Basis.FILE)))
    assert_snapshot(text, "partition_needs_not_lately")


def test_unknown_loads_are_named_with_the_reason():
    assert needs(need()).remarks() == []
    (remark,) = needs(need(), degraded="nobody looks").remarks()
    assert remark == "west>east: loads are not known: nobody looks"


def test_previews_are_selected_by_route_and_stream():
    assert selected_previews([PREVIEW], [ROUTE], None) == (PREVIEW,)
    assert selected_previews([PREVIEW], [ROUTE], "default") == (PREVIEW,)
    with pytest.raises(UnknownStream, match="no stream 'gold'; known: default"):
        selected_previews([PREVIEW], [ROUTE], "gold")
    with pytest.raises(UnknownStream):
        selected_previews([PREVIEW], [Route("east", "east")], None)


def test_a_topic_that_is_not_carried_is_refused_with_similar_names():
    check_topic_carried([PREVIEW], "orders")
    with pytest.raises(NotCarried, match="nothing of topic 'order' is carried there; is it orders"):
        check_topic_carried([PREVIEW], "order")
