"""Contract of Redis: the commands and scripts of our stores, played on an empty server."""

from __future__ import annotations

import time
from typing import Any

import redis

from replicator.mirror.offset_map.offset_store import SET_WHOLE
from replicator.runtime import expiring_values
from tests.world.contracts.steps import Steps

BINARY = b"\x00\r\n$1\xff"
PATIENCE_SECONDS = 30.0
EXPIRE_MS = 300
RETURNS = """
local found = cjson.decode(ARGV[1])
redis.call('HSET', KEYS[1], 'b', tostring(found.b[2]))
return {found.a, redis.call('HGET', KEYS[1], 'none'), redis.call('HINCRBY', KEYS[1], 'n', -2), true}
"""


def play(url: str) -> Steps:
    """Returns the differences in the answers of a server."""
    steps = Steps()
    with redis.Redis.from_url(url, socket_timeout=10.0) as client:
        _values(steps, client)
        _hashes(steps, client)
        _sorted_sets(steps, client)
        _sets_and_streams(steps, client)
        _scripts(steps, client)
        _pipelines(steps, client)
        _names(steps, client)
        _expiry(steps, client)
    return steps


def _values(steps: Steps, client: Any) -> None:
    steps.step("a value that is not there", None, client.get("value"))
    steps.step("a value is set", True, client.set("value", BINARY))
    steps.step("the value", BINARY, client.get("value"))
    steps.step("set only if it is missing", None, client.set("value", "other", nx=True))
    steps.step("several values", [BINARY, None], client.mget(["value", "none"]))
    steps.step("values that are there", 1, client.exists("value", "none"))
    steps.step("values deleted", 1, client.delete("value", "none"))
    steps.step("run id of the server", 40, len(client.info("server")["run_id"]))


def _hashes(steps: Steps, client: Any) -> None:
    steps.step("new fields", 2, client.hset("hash", mapping={"a": 1, "b": BINARY}))
    steps.step("a field again", 0, client.hset("hash", "a", "2"))
    steps.step("one field", b"2", client.hget("hash", "a"))
    steps.step("all fields", {b"a": b"2", b"b": BINARY}, client.hgetall("hash"))
    steps.step("names of fields", [b"a", b"b"], sorted(client.hkeys("hash")))
    steps.step("values of fields", [BINARY, b"2"], sorted(client.hvals("hash")))
    steps.step("fields deleted", 1, client.hdel("hash", "b", "none"))
    steps.step("fields of a hash that is not there", {}, client.hgetall("none"))


def _sorted_sets(steps: Steps, client: Any) -> None:
    steps.step("new members", 2, client.zadd("sorted", {BINARY: 2, "x": 5}, gt=True))
    steps.step(
        "a smaller score and a new member", 1, client.zadd("sorted", {"x": 4, "y": 2}, gt=True)
    )
    expected = [(BINARY, 2.0), (b"y", 2.0), (b"x", 5.0)]
    steps.step("members by score", expected, client.zrange("sorted", 0, -1, withscores=True))
    steps.step("members removed", 1, client.zrem("sorted", "y", "none"))
    steps.step("members left", [BINARY, b"x"], client.zrange("sorted", 0, -1))


def _sets_and_streams(steps: Steps, client: Any) -> None:
    steps.step("a member is added", 1, client.sadd("set", "a"))
    steps.step("it is added again", 0, client.sadd("set", "a"))
    steps.step("members", {b"a"}, client.smembers("set"))
    ids = [client.xadd("stream", {"n": number}, maxlen=2) for number in range(3)]
    newest = [(at, {b"n": b"%d" % number}) for number, at in enumerate(ids)][:0:-1]
    steps.step("newest entries of a stream", newest, client.xrevrange("stream", count=2))
    after = client.xrange("stream", min=f"({ids[1].decode()}", count=9)
    steps.step("entries behind one", newest[:1], after)


def _scripts(steps: Steps, client: Any) -> None:
    steps.step("a mark that is another one", 0, client.eval(SET_WHOLE, 1, "mark", "mine", "whole"))
    client.set("mark", "mine")
    steps.step("a mark that is ours", 1, client.eval(SET_WHOLE, 1, "mark", "mine", "whole"))
    steps.step("the mark", b"whole", client.get("mark"))
    answer = client.eval(RETURNS, 1, "script", '{"a": 7.9, "b": [1, "zwei"]}')
    steps.step("what a script returns", [7, None, -2, 1], answer)
    steps.step("what it wrote", b"zwei", client.hget("script", "b"))
    steps.step("a script that fails", "ResponseError", _error(client.eval, "return {}..1", 0))


def _pipelines(steps: Steps, client: Any) -> None:
    for is_transaction in (False, True):
        with client.pipeline(transaction=is_transaction) as pipeline:
            pipeline.set("of a pipeline", 1)
            pipeline.hget("of a pipeline", "a")
            pipeline.get("of a pipeline")
            done, refused, value = pipeline.execute(raise_on_error=False)
        found = (done, type(refused).__name__, value)
        steps.step("a pipeline with an error", (True, "ResponseError", b"1"), found)


def _names(steps: Steps, client: Any) -> None:
    for name in ("a*b:1", "a*b:2", "axb:1"):
        client.set(name, 1)
    found = sorted(client.scan_iter(match="a\\*b:*", count=1))
    steps.step("names by a pattern", [b"a*b:1", b"a*b:2"], found)


def _expiry(steps: Steps, client: Any) -> None:
    """Values with an index: both expire by the server's clock."""
    expiring_values.put(client, "index", "short", "1", EXPIRE_MS)
    expiring_values.put(client, "index", "long", "2", 60_000)
    expiring_values.put(client, "index", "gone", "3", 60_000)
    expiring_values.withdraw(client, "index", "gone")
    both = [{"short": b"1", "long": b"2"}]
    steps.step("values of an index", both, expiring_values.read(client, ["index"]))
    _wait(client, "index:short")
    left = [{"long": b"2"}, {}]
    answer = expiring_values.read(client, ["index", "none"])
    steps.step("values of an index and of none, later", left, answer)
    expiring_values.put(client, "index", "new", "4", EXPIRE_MS)
    members = sorted(client.zrange("index", 0, -1))
    steps.step("members of the index, after the next one", [b"long", b"new"], members)
    steps.step("the index expires with its last member", True, client.pttl("index") > 30_000)
    client.set("short", 1, ex=1)
    client.hset("short hash", "a", 1)
    steps.step("a hash is to expire", True, client.expire("short hash", 1))
    _wait(client, "short")
    _wait(client, "short hash")


def _wait(client: Any, name: str) -> None:
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while client.exists(name):
        assert time.monotonic() < give_up_at, f"{name} does not expire"
        time.sleep(0.02)


def _error(act: Any, *args: Any) -> str:
    try:
        act(*args)
    except redis.RedisError as error:
        return type(error).__name__
    return "none"
