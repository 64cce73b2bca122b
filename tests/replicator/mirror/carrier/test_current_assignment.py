"""Each partition has at most one carrier under the newest plan, whichever commands were applied."""

from hypothesis import given
from hypothesis import strategies as st

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.reassignment import CurrentAssignment
from replicator.spark.driver_command import DriverCommand, Term
from replicator.spark.reassignment_delta import ReassignmentDelta

ROUTE, TERM = Route("west", "east"), Term(1, 0)
CARRIERS = range(3)
PARTITIONS = [TopicPartition("flights", number) for number in range(6)]
ONE, TWO = PARTITIONS[:2]
FREE_ID = "sluice.west.east.0.free"


def began(number: int, *partitions: TopicPartition) -> CurrentAssignment:
    """Returns the assignment of a carrier whose epoch began with plan 1."""
    first = CarrierAssignment(ROUTE, number, partitions, TERM, plan_version=1, deadline=0.0)
    return CurrentAssignment(first, first.plan_version)


def command(version: int, moved: dict[TopicPartition, int | None]) -> DriverCommand:
    where = {(ROUTE.key, partition): carrier for partition, carrier in moved.items()}
    return DriverCommand(TERM, version, False, ReassignmentDelta(1, where))


first_carriers = st.fixed_dictionaries({p: st.sampled_from(CARRIERS) for p in PARTITIONS})
moves = st.dictionaries(st.sampled_from(PARTITIONS), st.none() | st.sampled_from(CARRIERS))
commands = st.lists(st.tuples(st.integers(1, 5), moves), max_size=6)


@given(first_carriers, commands)
def test_carriers_that_applied_the_same_commands_share_no_partition(first, sent):
    """A command holds all changes since the epoch began, so the newest one alone counts."""
    newest: dict[TopicPartition, int | None] = {}
    version = 1
    current = {
        number: began(number, *(p for p, carrier in first.items() if carrier == number))
        for number in CARRIERS
    }
    for sent_version, moved in sent:
        if sent_version > version:
            version, newest = sent_version, moved
        current = {n: each.after(command(sent_version, moved)) for n, each in current.items()}
    expected = {**first, **newest}
    for number, each in current.items():
        assert each.partitions == {p for p, carrier in expected.items() if carrier == number}
        assert each.partitions <= each.once_assigned
        assert each.plan_version == version


def test_a_command_of_an_older_or_the_same_plan_changes_nothing():
    current = began(0, ONE).after(command(3, {ONE: 1}))
    for version in (2, 3):
        assert current.after(command(version, {ONE: 0})) is current


def test_a_released_partition_names_the_id_of_its_next_carrier():
    current = began(0, ONE, TWO).after(command(2, {ONE: 2, TWO: None}))
    assert current.next_id(ONE, FREE_ID) == "sluice.west.east.2.handed"
    assert current.next_id(TWO, FREE_ID) == FREE_ID
    assert not current.is_unassigned(ONE)
    assert current.is_unassigned(TWO)


def test_another_routes_changes_do_not_count():
    elsewhere = ReassignmentDelta(1, {("north.east", ONE): 1})
    current = began(0, ONE).after(DriverCommand(TERM, 2, False, elsewhere))
    assert current.partitions == {ONE}
