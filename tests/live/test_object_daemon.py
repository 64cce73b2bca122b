"""`sluice aggregate` of a feed into objects, on Spark: killed and started again, verified."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout

import pytest

from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from deploy.lab.wait import until
from replicator.kafka.client.custody import Custody
from tests.live.feed_ground import documents
from tests.live.object_ground import ObjectGround
from tests.live.replicate_daemon import ReplicateDaemon
from tui.program import run

PARTITIONS = 3
PATIENCE_SECONDS = 200.0


@pytest.fixture
def object_server(tmp_path):
    server = ObjectServer(tmp_path)
    server.start()
    server.wait_ready()
    yield server
    server.process.kill()


@pytest.fixture
def feed(tmp_path, aggregate, redis, object_server, opened, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    settings = "object_age_seconds = 1.0\nobject_records = 700"
    return opened.enter_context(
        ObjectGround(
            tmp_path, aggregate, redis, object_server, partitions=PARTITIONS, settings=settings
        )
    )


@pytest.fixture
def start(feed):
    daemons = []

    def start() -> ReplicateDaemon:
        daemons.append(
            ReplicateDaemon(feed.config, "east", len(daemons), "local[4,8]", subcommand="aggregate")
        )
        return daemons[-1]

    yield start
    for daemon in daemons:
        daemon.kill()


def end(daemon):
    daemon.signal()
    assert daemon.ended() == 0


def sluice(feed, words):
    """Returns exit code and output of a command."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([*words.split(), "--config", str(feed.config), "-o", "json"])
    return code, json.loads(out.getvalue() or "null")


@pytest.mark.core
def test_a_daemon_that_is_killed_and_started_again_writes_each_record_once(feed, start):
    daemon = start()
    daemon.hear(rf"event=plan version=\d+ partitions={PARTITIONS}", seconds=PATIENCE_SECONDS)
    feed.send(documents(3000, partitions=PARTITIONS))
    feed.wait_passed(700, PATIENCE_SECONDS)
    daemon.kill()
    feed.send(documents(2000, first=3000, partitions=PARTITIONS))
    daemon = start()
    feed.wait_passed(5000, PATIENCE_SECONDS)
    feed.assert_exact()
    code, found = sluice(feed, "verify check --region east")
    assert code == 0, found
    code, found = sluice(feed, "aggregate status")
    (shown,) = found["feeds"]
    assert {each["mode"] for each in shown["partitions"]} == {"consume"}, shown
    end(daemon)
    custodies = {intent.custody for intent in feed.intents().values()}
    assert custodies == {Custody.RELEASED}


@pytest.mark.core
def test_open_objects_are_given_up_at_the_end_of_an_epoch_and_written_by_the_next_one(feed, start):
    daemon = start()
    daemon.hear(rf"event=plan version=\d+ partitions={PARTITIONS}", seconds=PATIENCE_SECONDS)
    feed.send(documents(300, partitions=PARTITIONS))
    assert until(lambda: len(feed.objects()) >= PARTITIONS, PATIENCE_SECONDS)
    feed.send(documents(30, first=300, partitions=PARTITIONS))
    end(daemon)
    start()
    feed.wait_passed(330, PATIENCE_SECONDS)
    feed.assert_exact()
