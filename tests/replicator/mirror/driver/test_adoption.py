"""Claims about adoption: partitions whose entries may be lost are never taken for new ones."""

from uuid import uuid4

from balancer.plan import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.driver.adoption import Claim, adoptable, beginnings, claims, merged
from replicator.mirror.ledger.entry import Begin
from replicator.mirror.topics.topic_plan import Carried

WEST, EAST = Route("west", "east"), Route("east", "east")
PLACES = [TopicPartition("orders", number) for number in range(4)]


def ends(*values):
    return {place: end for place, end in zip(PLACES, values, strict=True) if end is not None}


def test_all_routes_claim_a_topic_that_one_of_them_carries_and_the_largest_number_of_partitions():
    carried = [
        Carried(WEST, "orders", 2, uuid4(), uuid4()),
        Carried(EAST, "orders", 3, uuid4(), uuid4()),
        Carried(WEST, "clicks", 1, uuid4(), uuid4()),
    ]
    assert claims((WEST, EAST), carried) == [
        Claim(EAST, "clicks", 1),
        Claim(EAST, "orders", 3),
        Claim(WEST, "clicks", 1),
        Claim(WEST, "orders", 3),
    ]


def test_empty_partitions_are_adopted():
    assert adoptable(PLACES, (), ends(0, 0, 0, 0), trusting=False) == PLACES


def test_a_partition_with_records_and_without_entry_waits_and_so_do_those_behind_it():
    assert adoptable(PLACES, (), ends(0, 7, 0, 0), trusting=False) == PLACES[:1]


def test_on_the_operators_word_a_route_is_adopted_whatever_the_target_holds():
    assert adoptable(PLACES, (), ends(0, 7, 0, 9), trusting=True) == PLACES


def test_an_entry_that_is_there_counts_although_its_witness_is_gone():
    assert adoptable(PLACES, PLACES[1:2], ends(0, 7, 0, 0), trusting=False) == PLACES


def test_a_partition_whose_end_is_not_known_waits_even_when_trusted():
    assert adoptable(PLACES, (), ends(0, None, 0, 0), trusting=True) == PLACES[:1]


def test_commits_to_one_group_are_joined():
    first, second = ("orders", 0, 0, "a"), ("clicks", 0, 0, "b")
    assert merged([{"g": [first]}, {"g": [second], "h": [first]}]) == {
        "g": [first, second],
        "h": [first],
    }


def test_partitions_that_were_added_later_are_carried_whole():
    assert beginnings({}, 2, 4) == {2: Begin(0), 3: Begin(0)}


def test_partitions_that_were_there_first_and_had_to_wait_begin_where_they_began_then():
    at_first = {0: Begin(70), 1: Begin(80), 2: Begin(90)}
    assert beginnings(at_first, 0, 3) == at_first
    assert beginnings(at_first, 2, 4) == at_first | {3: Begin(0)}


def test_a_source_that_did_not_tell_at_first_leaves_the_beginning_to_the_carrier():
    assert beginnings({}, 0, 3) == {}
