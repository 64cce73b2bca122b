"""Output of blocks that loaders have to repeat."""

from aggregator.intents.table_range import TableRange
from aggregator.loader.reports import FeedPartition
from tui.commands.views.pending_blocks_view import blocks_text, blocks_values
from tui.facts.feed_scope import PendingBlock

BLOCK = PendingBlock(
    FeedPartition("west regional", "flights", 3),
    "departures",
    TableRange(10, 25, 12, "h", 1_800_000_000_000),
)


def test_the_blocks_are_named_with_their_offsets(assert_snapshot):
    assert_snapshot(blocks_text([BLOCK]), "pending_blocks")
    assert blocks_text([]) == "no block has to be repeated"


def test_values_have_the_same():
    assert blocks_values([BLOCK]) == [
        {
            "cluster": "west regional",
            "topic": "flights",
            "partition": 3,
            "table": "departures",
            "begin": 10,
            "end": 25,
            "records": 12,
            "sealed_at": "2027-01-15T08:00:00Z",
        }
    ]
