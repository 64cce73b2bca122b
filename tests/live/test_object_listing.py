"""`sluice aggregate objects`: which objects hold which offsets, and what the store lost of them."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout

import pytest

from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from tests.live.feed_ground import documents
from tests.live.object_ground import ObjectGround
from tui.program import run


@pytest.fixture
def feed(tmp_path, aggregate, redis, opened, monkeypatch):
    """A feed with ten objects of ten records in each of two partitions."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    server = ObjectServer(tmp_path)
    server.start()
    opened.callback(server.process.kill)
    server.wait_ready()
    ground = opened.enter_context(
        ObjectGround(
            tmp_path, aggregate, redis, server, partitions=2, settings="object_records = 10"
        )
    )
    ground.lead()
    ground.send(documents(200, partitions=2))
    ground.load()
    ground.wait_passed(200)
    return ground


def objects(feed, *more):
    """Returns exit code and output of `sluice aggregate objects`."""
    out, said = io.StringIO(), io.StringIO()
    words = ["aggregate", "objects", "--config", str(feed.config), "--feed", feed.feed]
    with redirect_stdout(out), redirect_stderr(said):
        code = run([*words, "-o", "json", *more])
    return code, json.loads(out.getvalue() or "null"), said.getvalue()


def test_each_offset_is_found_in_its_object_and_what_the_store_lost_is_named(feed):
    code, found, _ = objects(feed)
    assert code == 0
    names = {each.key: each for each in feed.objects()}
    assert {each["key"] for each in found["objects"]} == set(names)
    assert all(names[each["key"]].begin == each["begin"] for each in found["objects"])
    assert sum(each["records"] for each in found["objects"]) == 200
    where = ["--topic", feed.topic, "--partition", "1", "--offset", "42"]
    _, found, _ = objects(feed, *where)
    (holding,) = found["objects"]
    assert (holding["begin"], holding["end"], holding["partition"]) == (40, 50, 1)

    code, found, _ = objects(feed, "--check")
    assert (code, found["differences"]) == (0, [])
    lost, changed = sorted(names)[:2]
    (feed.bucket / lost).unlink()
    (feed.bucket / changed).write_bytes(b"other")
    code, found, _ = objects(feed, "--check")
    assert code == 4
    told = {each["key"]: each["text"] for each in found["differences"]}
    assert told.keys() == {lost, changed}
    assert told[lost] == "is not there"
    assert told[changed].startswith("has 5 bytes, not ")

    feed.server.process.kill()
    code, _, said = objects(feed, "--check")
    assert code == 3
    assert "HEAD" in said
