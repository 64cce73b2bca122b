"""Output of `sluice aggregate accept-loss`."""

from aggregator.loader.reports import FeedPartition
from replicator.kafka.client.loss import LossKind
from tests.tui.orders.test_feed_loss_acceptance import parked
from tui.commands.views.feed_losses_view import as_text, as_values
from tui.facts.feed_losses import ContinuedPartition, FeedLosses

PLACE = FeedPartition("west regional", "flights", 3)
OTHER = FeedPartition("west regional", "flights", 4)
PARKED = FeedLosses(parked=(parked(LossKind.SOURCE_CORRUPT), parked(None)))
DONE = FeedLosses(
    continued=(ContinuedPartition(PLACE, "source batch cannot be read", 95),),
    left={OTHER: "a loader was faster: look again"},
)


def test_parked_partitions_are_shown_with_the_reason(assert_snapshot):
    assert_snapshot(as_text(PARKED), "feed_losses_parked")
    assert as_text(FeedLosses()) == "nothing is parked"


def test_continued_and_left_partitions_are_shown(assert_snapshot):
    assert_snapshot(as_text(DONE), "feed_losses")


def test_values_have_the_same():
    first, second = as_values(PARKED)["parked"]
    assert (first["partition"], first["loaded_to"]) == (3, 90)
    assert second["loaded_to"] is None
    assert as_values(DONE) == {
        "parked": [],
        "continued": [
            {
                **PLACE._asdict(),
                "accepted": "source batch cannot be read",
                "goes_on_at": 95,
            }
        ],
        "left": [{**OTHER._asdict(), "reason": "a loader was faster: look again"}],
    }
