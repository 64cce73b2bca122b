"""`sluice aggregate forget`: manifests of objects that the bucket has dropped are removed, and
their offsets are not taken for offsets that never were in an object."""

from __future__ import annotations

from aggregator.objects.prefix_claim import CLAIM
from deploy.lab.wait import until
from replicator.config.names import objects_topic
from tests.live.feed_ground import committed, documents
from tests.live.object_commands import about, sluice
from tests.live.test_object_loading import make_feed, object_server
from tests.live.test_upload_sweeping import claiming

__all__ = ["make_feed", "object_server"]  # fixtures
CONFIRMED = "--older-than 1s --confirm"


def drop(feed, *begins: int) -> None:
    """Deletes objects of the first partition from the bucket, as a lifecycle rule does."""
    for name in feed.objects():
        if name.partition == 0 and name.begin in begins:
            (feed.bucket / name.key).unlink()


def told_records(feed) -> int:
    return len([*committed(feed.cluster, objects_topic(feed.feed))])


def test_dropped_objects_are_forgotten_once_and_stay_known(make_feed):
    feed = claiming(make_feed, "object_records = 10", partitions=2)
    feed.send(documents(80, partitions=2))
    feed.load()
    feed.wait_passed(80)
    drop(feed, 0, 10)
    before = told_records(feed)
    assert about(feed, "forget", "--older-than 1h --confirm")[:2] == (
        0,
        {"is_done": True, "forgotten": []},
    )
    assert until(lambda: about(feed, "forget", "--older-than 1s")[0] == 4, 30)
    assert told_records(feed) == before

    code, found, _ = about(feed, "forget", CONFIRMED)
    (row,) = found["forgotten"]
    assert (code, row["objects"], row["begin"], row["end"]) == (0, 2, 0, 20)
    assert about(feed, "forget", CONFIRMED)[1]["forgotten"] == []
    assert told_records(feed) == before + 3
    assert sorted((each.partition, each.begin) for each in feed.told().values()) == [
        (0, 20), (0, 30), (1, 0), (1, 10), (1, 20), (1, 30),
    ]  # fmt: skip

    # Nobody takes it for nothing, and nothing else is missed.
    (known,) = about(feed, "objects", f"--offset 5 --topic {feed.topic}")[1]["forgotten"]
    assert (known["partition"], known["begin"], known["end"]) == (0, 0, 20)
    code, found, _ = sluice(feed, "verify check --region east --objects")
    (count,) = found["objects"]
    assert (code, count["told"], count["missing"], count["forgotten"]) == (0, 6, 0, 2)
    _, found, _ = sluice(feed, "verify check --region east --rows")
    (rows,) = found["tables"]
    assert (rows["missing"], rows["found"]) == (0, 60)
    assert "20 records are in no object, where objects were forgotten" in str(rows["not_compared"])
    words = f"restore --feed {feed.feed} --topic {feed.topic} --as again-{feed.topic} --dry-run"
    code, found, _ = sluice(feed, words)
    assert [(each["begin"], each["end"]) for each in found["forgotten"]] == [(0, 20)]
    assert sum(each["objects"] for each in found["partitions"]) == 6


def test_nothing_is_forgotten_below_a_prefix_that_is_not_claimed(make_feed):
    """HEAD of a name in a bucket that is not there is 404 as well."""
    feed = claiming(make_feed, "object_records = 10")
    (feed.bucket / "topics" / CLAIM).unlink()
    code, _, said = about(feed, "forget", CONFIRMED)
    assert code == 4 and "the feed has never written there" in said
