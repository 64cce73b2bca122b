"""`sluice doctor exactness` on a spoiled installation: what happened and can happen is named."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout

import pytest
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from aggregator.intents.intent_store import group_of
from balancer.topic_partition import TopicPartition
from deploy.lab.traffic import TrafficRecord
from deploy.lab.wait import until
from replicator.config.names import dead_letter_topic
from tests.live.feed_ground import COLUMNS, FeedGround, documents
from tui.commands.exit_codes import ExitCode
from tui.program import run


@pytest.fixture
def feed(tmp_path, aggregate, redis, replicated_database, opened):
    """A feed of two partitions, whose driver leads."""
    ground = opened.enter_context(
        FeedGround(tmp_path, aggregate, redis, replicated_database, partitions=2)
    )
    replicated_database.create_table(ground.topic, COLUMNS, order_by="_offset")
    ground.lead()
    return ground


def examined(ground: FeedGround) -> tuple[int, dict[str, str]]:
    """Returns the exit code, and the diagnoses about this feed by kind."""
    out = io.StringIO()
    words = ["doctor", "exactness", "--config", str(ground.config), "--region", "east"]
    with redirect_stdout(out):
        code = run([*words, "-o", "json"])
    found = json.loads(out.getvalue())
    assert found["problems"] == []
    return code, {each["kind"]: each["text"] for each in found["diagnoses"]}


def test_a_sound_installation_has_no_diagnosis_and_what_is_spoiled_is_named(
    feed, replicated_database, aggregate
):
    feed.send(documents(200, partitions=2))
    feed.send([TrafficRecord(0, b"k", b"no document")])
    feed.load()
    feed.wait_count(200)
    assert until(lambda: feed.dead_letters(), 30)
    feed.publish()
    feed.settle()
    assert examined(feed) == (ExitCode.DONE, {})

    admin = aggregate.admin()
    letters = KafkaTopicPartition(dead_letter_topic(feed.feed), 0, -1)
    admin.delete_records([letters])[letters].result(30)
    resource = ConfigResource(
        ResourceType.TOPIC,
        letters.topic,
        incremental_configs=[
            ConfigEntry("retention.ms", "1000", incremental_operation=AlterConfigOpType.SET)
        ],
    )
    admin.incremental_alter_configs([resource])[resource].result(30)
    with replicated_database.client(0) as client:
        client.execute(f"INSERT INTO {feed.topic} SELECT * FROM {feed.topic} WHERE _offset < 5")
        # Tables of others: what cannot be asked of them keeps no other from being looked at.
        client.execute("CREATE TABLE a_part (_offset UInt64) ENGINE = MergeTree ORDER BY _offset")
        client.execute(
            "CREATE TABLE a_null (_cluster Nullable(String), _topic Nullable(String), "
            "_partition UInt32, _offset UInt64, _row UInt32) ENGINE = MergeTree ORDER BY _offset"
        )
        client.execute("INSERT INTO a_null SELECT NULL, NULL, 0, 0, 0")
        client.execute("INSERT INTO a_null SELECT 'c', 't', 0, 0, 0")
    code, found = examined(feed)
    assert code == ExitCode.DIFFERENT
    assert "5 rows too many, offsets 0 to 4" in found["doubled coordinates"]
    assert "of 1 counted dead letter, 0 are in" in found["dead letters"]
    assert "retention.ms is 1000" in found["limits of dead letters"]

    group = group_of(feed.feed, TopicPartition(feed.topic, 1))
    admin.delete_consumer_groups([group])[group].result(30)
    assert f"{feed.topic}-1: the entry is gone" in examined(feed)[1]["expired entries"]
