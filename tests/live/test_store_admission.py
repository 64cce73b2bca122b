"""`sluice aggregate` of several feeds: one whose store or prefix is not its own does not start, is
named in log and status, and the others flow."""

from __future__ import annotations

import re

import pytest

from aggregator.objects.prefix_claim import CLAIM, PrefixClaim
from deploy.lab.wait import until
from tests.live.feed_ground import documents
from tests.live.object_commands import sluice
from tests.live.object_ground import ObjectGround
from tests.live.replicate_daemon import ReplicateDaemon
from tests.live.test_object_daemon import PATIENCE_SECONDS, end
from tests.live.test_object_loading import object_server

__all__ = ["object_server"]  # fixtures


@pytest.fixture
def feed(tmp_path, aggregate, redis, object_server, opened, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "lab")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "lab-secret")
    return opened.enter_context(
        ObjectGround(tmp_path, aggregate, redis, object_server, settings="object_records = 10")
    )


def add(feed: ObjectGround, name: str, bucket: str) -> None:
    """Adds the same feed under another name, into another bucket."""
    text = feed.config.read_text()
    own = text[text.index(f"[feeds.{feed.feed}]") :].partition("[feeds.")[2].partition("[feeds.")[0]
    other = own.replace(feed.bucket_of(feed.feed), bucket).replace(feed.feed, name, 1)
    feed.config.write_text(f"{text}\n[feeds.{other}")


def refusals(feed: ObjectGround) -> dict[str, str]:
    """Returns what `sluice aggregate status` says of each feed that does not start."""
    _, found, _ = sluice(feed, "aggregate status")
    return {
        each["feed"]: condition["text"]
        for each in found["feeds"]
        for condition in each["conditions"] or ()
        if condition["kind"] == "feed-refused"
    }


def test_feeds_without_a_bucket_or_below_anothers_claim_do_not_start_and_the_others_flow(
    feed, object_server
):
    claimed, missing = f"{feed.feed}-claimed", f"{feed.feed}-missing"
    buckets = [feed.bucket.with_name(name) for name in ("bucket-of-others", "bucket-nowhere")]
    add(feed, claimed, buckets[0].name)
    add(feed, missing, buckets[1].name)
    (buckets[0] / "topics").mkdir(parents=True)
    other = PrefixClaim("pond", "west aggregate", "another-cluster")
    (buckets[0] / "topics" / CLAIM).write_bytes(other.encode())
    daemon = ReplicateDaemon(feed.config, "east", 0, "local[4,8]", subcommand="aggregate")
    try:
        daemon.hear(rf"event=feed-admitted feed={feed.feed} ", seconds=PATIENCE_SECONDS)
        daemon.hear(rf"event=feed-refused feed={claimed} .*{re.escape(str(other))} writes there")
        daemon.hear(rf"event=feed-refused feed={missing} .*no bucket bucket-nowhere: create it")
        claim = PrefixClaim.decode((feed.bucket / "topics" / CLAIM).read_bytes())
        assert (claim.feed, claim.cluster) == (feed.feed, "east aggregate")
        feed.send(documents(20))
        feed.wait_objects(2, PATIENCE_SECONDS)
        assert until(lambda: set(refusals(feed)) == {claimed, missing}, 30), refusals(feed)
        assert "feed pond of west aggregate" in refusals(feed)[claimed]
        code, found, _ = sluice(feed, "aggregate check")
        assert code == 4
        named = [each["text"] for each in found["findings"] if each["is_mistake"]]
        assert len(named) == 2 and all("does not start" in text for text in named), named
        # The prefix is released, the bucket is made: both feeds begin by themselves.
        (buckets[0] / "topics" / CLAIM).unlink()
        buckets[1].mkdir()
        for bucket in buckets:
            assert until(lambda: len([*bucket.rglob("*.parquet")]) == 2, PATIENCE_SECONDS)  # noqa: B023
        assert until(lambda: refusals(feed) == {}, 30)
        assert len(feed.objects()) == 2
        end(daemon)
    finally:
        daemon.kill()
