"""Output of parked partitions, and of those that go on."""

from balancer.plan import TopicPartition
from replicator.mirror.repair.accept_loss import NO_ENTRY, Accepted, Parked
from tui.commands.views.loss_view import as_text, as_values
from tui.facts.loss_report import LossReport

ONE, TWO = TopicPartition("flights", 0), TopicPartition("flights", 1)
PARKED = LossReport(parked=(Parked(ONE, None, NO_ENTRY),))
ACCEPTED = LossReport(
    accepted=(Accepted(ONE, ("source batch cannot be read",), 7),),
    left={TWO: "no leader in the target"},
)


def test_parked_partitions_have_their_reasons(assert_snapshot):
    assert_snapshot(as_text(PARKED), "parked")
    assert as_values(PARKED) == [{"topic": "flights", "partition": 0, "reason": NO_ENTRY}]
    assert as_text(LossReport()) == "nothing is parked"


def test_partitions_that_go_on_are_listed_before_those_that_were_left(assert_snapshot):
    assert_snapshot(as_text(ACCEPTED), "accepted_losses")
    accepted, left = as_values(ACCEPTED)
    assert accepted.keys() == left.keys()
    assert (accepted["goes_on_at_source_offset"], accepted["left_because"]) == (7, None)
    assert (left["partition"], left["left_because"]) == (1, "no leader in the target")
