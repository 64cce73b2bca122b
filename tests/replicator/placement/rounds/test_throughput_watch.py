"""The file is read again after a change; until a valid change its last content stays in use."""

import json
import logging
import os
from pathlib import Path

import pytest

from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.placement.rounds.throughput_watch import ThroughputWatch

CLICKS = TopicPartition("clicks", 0)
TOPICS = frozenset({"clicks"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "throughput.json"


def write(file: Path, kib: object, cluster: str = "west", name: str = "clicks-0") -> None:
    stats = {name: f"bytesInKB:{kib}, msgIn:2"}
    file.write_text(json.dumps({"stats": {cluster: stats}}))


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "replicator.placement.rounds")
    return caplog


def warnings(logged: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in logged.records if each.levelno == logging.WARNING]


def test_without_a_file_no_rate_is_known(logged):
    assert ThroughputWatch(None, "west").throughput(TOPICS).rate(CLICKS) is None
    assert not logged.records


def test_a_file_that_changes_is_read_again_and_one_that_does_not_is_not(file):
    write(file, 15)
    watch = ThroughputWatch(file, "west")
    first = watch.throughput(TOPICS)
    assert first.rate(CLICKS) == Rate(15 * 1024, 2)
    assert watch.throughput(TOPICS) is first
    write(file, 150)
    assert watch.throughput(TOPICS).rate(CLICKS) == Rate(150 * 1024, 2)


def test_a_file_that_replaces_another_one_is_read(file):
    write(file, 15)
    watch = ThroughputWatch(file, "west")
    watch.throughput(TOPICS)
    other = file.with_name("other")
    write(other, 16)
    seen = file.stat()
    os.utime(other, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    other.replace(file)
    assert watch.throughput(TOPICS).rate(CLICKS) == Rate(16 * 1024, 2)


def test_a_wrong_file_is_logged_once_with_its_entry_and_its_last_content_stays(file, logged):
    write(file, 15)
    watch = ThroughputWatch(file, "west")
    before = watch.throughput(TOPICS)
    write(file, "many")
    assert [watch.throughput(TOPICS) for _ in range(3)] == [before] * 3
    assert len(warnings(logged)) == 1 and "clicks-0: 'many' is not a number" in warnings(logged)[0]
    write(file, 16)
    assert watch.throughput(TOPICS).rate(CLICKS) == Rate(16 * 1024, 2)
    assert "event=throughput-read" in logged.records[-1].getMessage()


@pytest.mark.parametrize("content", [None, b"\xff", b'{"stats": {"east": {}}}'])
def test_a_file_that_is_missing_or_lacks_the_source_is_logged_once(file, logged, content):
    write(file, 15)
    watch = ThroughputWatch(file, "west")
    before = watch.throughput(TOPICS)
    file.unlink()
    if content:
        file.write_bytes(content)
    assert [watch.throughput(TOPICS) for _ in range(3)] == [before] * 3
    assert len(warnings(logged)) == 1 and str(file) in warnings(logged)[0]


def test_the_return_of_an_unchanged_file_is_logged(file, logged):
    write(file, 15)
    watch = ThroughputWatch(file, "west")
    watch.throughput(TOPICS)
    away = file.rename(file.with_name("away"))
    watch.throughput(TOPICS)
    away.rename(file)
    watch.throughput(TOPICS)
    assert "event=throughput-read" in logged.records[-1].getMessage()


def test_a_topic_named_like_a_partition_is_one_as_soon_as_it_is_there(file):
    write(file, 15)
    watch = ThroughputWatch(file, "west")
    assert watch.throughput(TOPICS).rate(CLICKS) == Rate(15 * 1024, 2)
    assert watch.throughput(TOPICS | {"clicks-0"}).rate(CLICKS) is None
