"""`sluice aggregate` of several feeds: one whose store or prefix is not its own does not start, is
named in log and status, and the others flow."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import NewTopic

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


def with_rivals(feed: ObjectGround) -> None:
    """Adds a feed with the same prefix, and one whose bucket is missing."""
    text = feed.config.read_text()
    own = text[text.index(f"[feeds.{feed.feed}]") :]
    rivals = own.replace(f"[feeds.{feed.feed}]", f"[feeds.{feed.feed}-b]")
    nowhere = own.replace(f"[feeds.{feed.feed}]", f"[feeds.{feed.feed}-c]")
    nowhere = nowhere.replace(feed.bucket_of(feed.feed), "bucket-nowhere")
    feed.config.write_text("\n".join([text, rivals, nowhere]))


def refusals(feed: ObjectGround) -> dict[str, str]:
    """Returns what `sluice aggregate status` says of each feed that does not start."""
    _, found, _ = sluice(feed, "aggregate status")
    return {
        each["feed"]: condition["text"]
        for each in found["feeds"]
        for condition in each["conditions"] or ()
        if condition["kind"] == "feed-refused"
    }


@pytest.mark.core
def test_a_second_feed_below_a_prefix_and_one_without_a_bucket_do_not_start(feed):
    feed.cluster.create_topics(NewTopic(f"unused-{feed.topic}", 1))
    folder = feed.bucket / "topics"
    folder.mkdir()
    with_rivals(feed)
    daemon = ReplicateDaemon(feed.config, "east", 0, "local[4,8]", subcommand="aggregate")
    try:
        daemon.hear(rf"event=feed-admitted feed={feed.feed}(-b)? ", seconds=PATIENCE_SECONDS)
        daemon.hear(rf"event=feed-refused feed={feed.feed}(-b)? .* writes there")
        daemon.hear(rf"event=feed-refused feed={feed.feed}-c .*there is no bucket bucket-nowhere")
        owner = PrefixClaim.decode((folder / CLAIM).read_bytes())
        rival = f"{feed.feed}-b" if owner.feed == feed.feed else feed.feed
        feed.send(documents(20))
        feed.wait_objects(2, PATIENCE_SECONDS)
        assert until(lambda: set(refusals(feed)) == {rival, f"{feed.feed}-c"}, 30)
        assert f"feed {owner.feed} of east aggregate" in refusals(feed)[rival]
        code, found, _ = sluice(feed, "aggregate check")
        assert code == 4
        named = [each["text"] for each in found["findings"] if each["is_mistake"]]
        assert any(f"feed {rival} does not start" in text for text in named), named
        assert any("there is no bucket bucket-nowhere" in text for text in named), named
        # Its bucket is made, and the feed begins by itself.
        (feed.bucket.with_name("bucket-nowhere")).mkdir()
        daemon.hear(rf"event=feed-admitted feed={feed.feed}-c ", seconds=PATIENCE_SECONDS)
        assert until(
            lambda: len([*feed.bucket.with_name("bucket-nowhere").rglob("*.parquet")]) == 2,
            PATIENCE_SECONDS,
        )
        assert len(feed.objects()) == 2
        end(daemon)
    finally:
        daemon.kill()
