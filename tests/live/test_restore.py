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
from deploy.lab.traffic import Shape, records, send
from deploy.lab.wait import until
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import load
from replicator.kafka.admin.admin import Admin
from tests.live.feed_ground import committed, documents
from tests.live.object_ground import ObjectGround
from tests.live.restore_steps import EACH, Step, begin_with_end, each_transaction_twice
from tests.live.test_feed_kills import await_death
from tests.live.test_feed_zombies import await_stop
from tui.commands.exit_codes import ExitCode
from tui.program import run

PARTITIONS = 3
HOUR_MS = 3_600_000
FIRST_MS = 1_700_000_000_000
SETTINGS = """
object_records = 60
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
    shapes = records(1600, partitions=PARTITIONS, value_bytes=2000, first_timestamp_ms=FIRST_MS)
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
    found: dict = {number: [] for number in range(PARTITIONS)}
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
    return new_topic(lake)


def new_topic(lake, partitions: int = PARTITIONS, cluster=None, **configs: str) -> str:
    name = f"restored_{uuid.uuid4().hex[:8]}"
    named = {key.replace("_", "."): value for key, value in configs.items()}
    (cluster or lake.cluster).create_topics(NewTopic(name, partitions, config=named))
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
    before = log_ends(lake.cluster, target)
    assert_translated(lake, target)
    assert log_ends(lake.cluster, target) == before


def assert_translated(lake, target, *more: str) -> None:
    """Compares what a group of the source has not read with what it reads of the target."""
    source, new = content(lake.cluster, lake.topic), content(lake.cluster, target)
    asked = [
        f"--offset={number}:{offset}"
        for number, some in source.items()
        for offset in [*(at for at, _ in some[::23]), 0, some[-1][0] + 1, 10_000_000]
    ]
    code, found, said = restore(lake, target, *more, *asked)
    assert (code, len(found["positions"])) == (0, len(asked)), said
    for position in found["positions"]:
        number, offset, at = position.values()
        left = [record for place, record in source[number] if place >= offset]
        assert [record for place, record in new[number] if place >= at] == left


@pytest.mark.parametrize(
    ("chosen", "holds"),
    [
        (
            ["--offsets=0:-130", "--offsets=2:150-300"],
            lambda number, at, each: (
                (number == 0 and at < 130) or (number == 2 and 150 <= at < 300)
            ),
        ),
        (
            ["--since=2023-11-14T22:30:00Z", "--until=2023-11-15T00:13:20.300Z"],
            lambda number, at, each: 1_700_001_000_000 <= each.timestamp_ms < 1_700_007_200_300,
        ),
        (
            ["--since=2023-11-15T00:00:00Z", "--offsets=1:100-"],
            lambda number, at, each: (
                number == 1 and at >= 100 and each.timestamp_ms >= 1_700_006_400_000
            ),
        ),
    ],
)
def test_records_are_chosen_by_offsets_and_by_time(lake, target, chosen, holds):
    code, _, said = restore(lake, target, *chosen)
    assert code == 0, said
    wanted = {
        number: [each for at, each in some if holds(number, at, each)]
        for number, some in content(lake.cluster, lake.topic).items()
    }
    assert sum(map(len, wanted.values())) > 50
    assert without_offsets(content(lake.cluster, target)) == wanted


SMALL = {"max_message_bytes": "30000"}
"""Configs of a topic that takes small batches only, so that a restore has many transactions."""
KILLED = [
    (Step.CLAIM_WANTED, 1),
    (Step.BATCH_SENT, 2),
    (Step.ALL_SENT, 4),
    (Step.COMMITTED, 2),
]


def test_a_restore_that_dies_at_any_step_goes_on_where_it_was(lake, tmp_path):
    target = new_topic(lake, **SMALL)
    wanted = without_offsets(content(lake.cluster, lake.topic))
    for step, nth in KILLED:
        dying = begin_with_end(tmp_path, words(lake, target), step, nth, signal.SIGKILL)
        await_death(dying)
    code, found, said = restore(lake, target, "--dry-run")
    assert code == 0, said
    for each in found["partitions"]:
        assert 0 < each["restored_records"] < each["records_of_objects"]
    code, found, said = restore(lake, target)
    assert code == 0, said
    assert without_offsets(content(lake.cluster, target)) == wanted
    restored = [each["restored_records"] for each in found["partitions"]]
    assert restored == [len(some) for some in wanted.values()]
    assert_translated(lake, target)


def test_of_two_restores_into_a_topic_the_older_ends_and_none_writes_twice(lake, tmp_path):
    target = new_topic(lake, **SMALL)
    zombies = []
    for step, nth in ((Step.CLAIMED, 1), (Step.BATCH_SENT, 2)):
        zombie = begin_with_end(tmp_path, words(lake, target), step, nth, signal.SIGSTOP)
        await_stop(zombie)
        zombies.append(zombie)
    assert restore(lake, target)[0] == 0
    for zombie in zombies:
        zombie.send(signal.SIGCONT)
        assert until(lambda zombie=zombie: not zombie.is_running(), 60)
        assert zombie.wait() == ExitCode.FENCED, zombie.log.read_text()
    assert_whole(lake, target)
    assert_translated(lake, target)


def test_brokers_that_die_while_a_restore_runs_lose_and_repeat_nothing(
    lake, make_cluster, tmp_path
):
    wide = make_cluster("wide", brokers=3)
    config = tmp_path / "wide.toml"
    brokers = json.dumps(wide.bootstrap.split(","))
    config.write_text(lake.config.read_text().replace('["127.0.0.1:1"]', brokers))
    target = new_topic(lake, cluster=wide, retention_ms="-1", **SMALL)
    into = [*words(lake, target), "--config", str(config), "--into", "east regional"]
    restoring = begin_with_end(tmp_path, into, Step.BATCH_SENT, f"{EACH}4", signal.SIGSTOP)
    for number in wide.brokers[:2]:
        # It stands within a transaction, and goes on while the broker is away.
        await_stop(restoring)
        wide.kill(number)
        restoring.send(signal.SIGCONT)
        wide.restart(number)
        wide.wait_ready()

    def has_ended() -> bool:
        restoring.send(signal.SIGCONT)
        return not restoring.is_running()

    assert until(has_ended, 60), restoring.failure("does not end")
    assert restoring.wait() == 0, restoring.log.read_text()
    wanted = without_offsets(content(lake.cluster, lake.topic))
    assert without_offsets(content(wide, target)) == wanted


def test_a_corrupt_or_lost_object_is_named_and_the_restore_goes_on_once_it_is_back(lake, target):
    name = sorted(each.key for each in lake.objects() if each.partition == 1)[-1]
    path, away = lake.bucket / name, lake.bucket.with_name("away")
    data = path.read_bytes()
    # The store tells the checksum that it once kept; reading finds what is there.
    path.write_bytes(data[:400] + bytes([data[400] ^ 1]) + data[401:])
    code, _, said = restore(lake, target)
    assert (code, name in said, "CRC-32C" in said) == (4, True, True), said
    path.write_bytes(data)
    path.rename(away)
    code, _, said = restore(lake, target)
    assert (code, name in said, "is not there" in said) == (4, True, True), said
    away.rename(path)
    assert restore(lake, target)[0] == 0
    assert_whole(lake, target)


def test_a_target_that_would_lose_or_change_records_is_refused_with_what_to_do(lake, target):
    def refusal(name: str, *more: str) -> str:
        code, _, said = restore(lake, name, *more)
        assert code == 4, said
        return said

    assert "create it with 3 partitions, or use --create" in refusal("absent")
    assert "has 2 partitions, the source has 3" in refusal(new_topic(lake, 2))
    assert "retention.ms" in refusal(new_topic(lake, retention_ms="86400000"))
    assert "CreateTime" in refusal(new_topic(lake, message_timestamp_type="LogAppendTime"))
    assert "max.message.bytes" in refusal(new_topic(lake, max_message_bytes="900"))
    assert "INVALID_RECORD" in refusal(new_topic(lake, cleanup_policy="compact"))
    assert "no object with such records" in refusal(target, "--until=2020-01-01T00:00:00Z")
    assert "offsets are in objects up to" in refusal(target, "--offsets=1:0-1000000")
    assert "there is no partition 7" in refusal(target, "--offsets=7:-")
    assert restore(lake, target, "--offsets=1:0-50")[0] == 0
    assert "holds another restore" in refusal(target, "--offsets=1:0-51")
    assert "holds another restore" in refusal(target)
    others = new_topic(lake)
    send(lake.cluster, others, documents(3))
    assert "holds records of others" in refusal(others)
    assert log_ends(lake.cluster, others) == [3, 0, 0]


def test_a_transaction_that_is_repeated_writes_no_record_twice(lake):
    """It is, when a coordinator has left out the marker of its offsets (decision 0010)."""
    target = new_topic(lake, **SMALL)
    with each_transaction_twice():
        assert restore(lake, target)[0] == 0
    assert_whole(lake, target)
    assert_translated(lake, target)


def test_a_topic_of_another_cluster_is_created_and_keeps_old_records(lake, clusters, tmp_path):
    name = f"restored_{uuid.uuid4().hex[:8]}"
    config = tmp_path / "two.toml"
    config.write_text(
        lake.config.read_text().replace('"127.0.0.1:1"', f'"{clusters[0].bootstrap}"')
    )
    into = ["--config", str(config), "--into", "east regional", "--offsets=2:-90"]
    code, found, said = restore(lake, name, *into, "--create", "--replication-factor=1")
    assert (code, found["target"]["cluster"]) == (0, "east regional"), said
    source, new = (
        content(each, topic)[2] for each, topic in ((lake.cluster, lake.topic), (clusters[0], name))
    )
    assert [each for _, each in new] == [each for at, each in source if at < 90]
    (topic,) = Admin("lab", load(config).cluster(ClusterName("east regional"))).topics([name])
    assert (topic.partitions, topic.configs.values["retention.ms"]) == (PARTITIONS, "-1")


def test_a_group_is_named_where_it_goes_on(lake, target):
    consumer = Consumer({"bootstrap.servers": lake.cluster.bootstrap, "group.id": target})
    committed_at = [TopicPartition(lake.topic, number, 100 + number) for number in range(2)]
    consumer.commit(offsets=committed_at, asynchronous=False)
    consumer.close()
    code, found, said = restore(lake, target, "--offsets=0:-", "--group", target, "--dry-run")
    assert (code, [each["target_offset"] for each in found["positions"]]) == (0, [None]), said
    code, found, said = restore(lake, target, "--offsets=0:-", "--group", target)
    (position,) = found["positions"]
    source, new = content(lake.cluster, lake.topic)[0], content(lake.cluster, target)[0]
    wanted = [record for at, record in source if at >= 100]
    assert [record for at, record in new if at >= position["target_offset"]] == wanted
    code, _, said = restore(lake, target, "--offsets=0:-", "--group", "no-such-group")
    assert (code, "has no committed offsets" in said) == (4, True)
