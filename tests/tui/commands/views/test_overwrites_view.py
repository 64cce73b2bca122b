"""Output of `sluice aggregate overwrite`."""

from aggregator.intents.table_range import Manifest
from aggregator.loader.reports import FeedPartition
from aggregator.s3.object_store import Found
from tui.commands.views.overwrites_view import as_text, as_values
from tui.facts.taken_objects import Overwrites, TakenObject

MANIFEST = Manifest(7, 14, 7, "", 1_700_000_000_000, size_bytes=2049, crc32c=0x4C5A3041)
TAKEN = TakenObject(
    FeedPartition("east aggregate", "flights", 3),
    "topics/flights/partition=3/flights+3+0000000007.zstd.parquet",
    MANIFEST,
    Found(16, 0x7DEB70DA, {}, '"etag"', 1.7e9),
)
FREE = TakenObject(FeedPartition("east aggregate", "flights", 4), "topics/other", MANIFEST, None)


def test_both_contents_are_shown(assert_snapshot):
    assert_snapshot(as_text(Overwrites((TAKEN, FREE))), "overwrites")
    assert as_text(Overwrites()) == "no name of an object is taken by another content"
    shown = as_text(Overwrites(continued=(TAKEN,), left={FREE.partition: "its name is free"}))
    assert shown == (
        f"is written over: {TAKEN.key}\nleft as it is: east aggregate flights 4: its name is free"
    )


def test_values_have_both_contents():
    found = as_values(Overwrites((TAKEN, FREE), left={FREE.partition: "why"}))
    taken, free = found["taken"]
    assert (taken["there"]["size_bytes"], taken["sealed"]["size_bytes"]) == (16, 2049)
    assert taken["there"]["written_at"] == taken["sealed"]["sealed_at"] == "2023-11-14T22:13:20Z"
    assert free["there"] is None
    assert found["left"][0]["partition"] == 4
