"""`sluice restore`: records of objects are in a topic again, each once, whatever dies meanwhile."""

from __future__ import annotations

import io
import json
import signal
import uuid
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import replace
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewTopic

from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from deploy.lab.process import Process
from deploy.lab.traffic import Shape, TrafficRecord, records
from deploy.lab.wait import until
from tests.live.feed_ground import committed, documents
from tests.live.object_ground import ObjectGround
from tests.live.restore_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death
from tests.live.test_feed_zombies import await_stop
from tui.program import run

PARTITIONS = 3
HOUR_MS = 3_600_000
FIRST_MS = 1_700_000_000_000
SETTINGS = """
object_records = 300
object_age_seconds = 1.0
partition_by = "time"
folders = "hour=%H"
"""


class Restored(NamedTuple):
    """Record without its offset, which is another one in another topic."""

    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """Object server, directory and stack of the module."""
    directory = tmp_path_factory.mktemp("restore")
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        server = ObjectServer(directory)
        server.start()
        stack.callback(server.process.kill)
        server.wait_ready()
        yield directory, server, stack


@pytest.fixture(scope="module")
def lake(stage, clusters, shared_redis):
    """A feed that has written records of every shape: their hours overlap, and aborted transactions
    leave holes."""
    directory, server, stack = stage
    feed = ObjectGround(
        directory, clusters[1], shared_redis, server, partitions=PARTITIONS, settings=SETTINGS
    )
    feed = stack.enter_context(feed)
    feed.lead()
    shapes = records(4000, partitions=PARTITIONS, value_bytes=2000, first_timestamp_ms=FIRST_MS)
    shuffled = (
        replace(each, timestamp_ms=each.timestamp_ms + number % 3 * HOUR_MS)
        for number, each in enumerate(shapes)
    )
    feed.send(shuffled, Shape(batch_records=50, transaction_records=200, abort_every=4))
    ends = log_ends(feed.cluster, feed.topic)
    loader = feed.load_apart()
    feed.wait_passed(sum(ends))
    loader.kill()
    return feed


def log_ends(cluster, topic) -> list[int]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "ends"})
    try:
        return [
            consumer.get_watermark_offsets(TopicPartition(topic, number), 30)[1]
            for number in range(PARTITIONS)
        ]
    finally:
        consumer.close()


def content(cluster, topic) -> dict[int, list[tuple[int, Restored]]]:
    """Returns the committed records of each partition, with their offsets."""
    found: dict[int, list[tuple[int, Restored]]] = {number: [] for number in range(PARTITIONS)}
    for each in committed(cluster, topic):
        headers = tuple(each.headers() or ())
        record = Restored(each.timestamp()[1], each.key(), each.value(), headers)
        found[each.partition()].append((each.offset(), record))
    return found


def without_offsets(found) -> dict[int, list[Restored]]:
    return {number: [record for _, record in some] for number, some in found.items()}


@pytest.fixture
def target(lake):
    """Name of a new, empty topic with the partitions of the source."""
    name = f"restored_{uuid.uuid4().hex[:8]}"
    lake.cluster.create_topics(NewTopic(name, PARTITIONS))
    return name


def words(lake, target, *more: str) -> list[str]:
    named = ["--feed", lake.feed, "--topic", lake.topic, "--as", target]
    return ["restore", "--config", str(lake.config), *named, "-o", "json", *more]


def restore(lake, target, *more: str):
    """Returns exit code, output and what was said."""
    out, said = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(said):
        code = run(words(lake, target, *more))
    return code, json.loads(out.getvalue() or "null"), said.getvalue()


def assert_whole(lake, target) -> None:
    wanted = without_offsets(content(lake.cluster, lake.topic))
    assert without_offsets(content(lake.cluster, target)) == wanted


def test_a_restored_topic_has_the_records_of_the_source_and_groups_go_on_in_it(lake, target):
    assert len(lake.objects()) > 3 * PARTITIONS
    code, found, said = restore(lake, target, "--dry-run")
    assert (code, log_ends(lake.cluster, target)) == (0, [0] * PARTITIONS), said
    assert found["partitions_of_topic"] == PARTITIONS
    source = content(lake.cluster, lake.topic)
    holding = [each["records_of_objects"] for each in found["partitions"]]
    assert holding == [len(source[number]) for number in range(PARTITIONS)]
    assert not any(each["is_done"] for each in found["partitions"])

    code, found, said = restore(lake, target)
    assert code == 0, said
    assert all(each["is_done"] for each in found["partitions"])
    assert_whole(lake, target)

    new = content(lake.cluster, target)
    for number, some in source.items():
        asked = [offset for offset, _ in some[::97]] + [0, some[-1][0] + 1, 10_000_000]
        options = [f"--offset={number}:{offset}" for offset in asked]
        for option, offset in zip(options, asked, strict=True):
            _, found, _ = restore(lake, target, option)
            (position,) = found["positions"]
            left = [record for at, record in some if at >= offset]
            at = position["target_offset"]
            assert [record for place, record in new[number] if place >= at] == left

    before = log_ends(lake.cluster, target)
    assert restore(lake, target)[0] == 0
    assert log_ends(lake.cluster, target) == before
