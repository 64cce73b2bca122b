"""Positions of logs in a real Redis: accepted and refused portions, and the age of a copy."""

from __future__ import annotations

import pytest
from redis import Redis

from deploy.lab.redis import RedisServer
from replicator.kafka.tail.stored_positions import PRELUDE, Positions, StoreBehind, header, text
from replicator.kafka.tail.tail_position import Portion, Reading, TailPosition
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.copying import opening

pytestmark = pytest.mark.stores

BEGIN = TailPosition("topic", 0)
NOW_MS = 1_000_000
APPEND = (
    PRELUDE
    + """
for _, portion in ipairs(cjson.decode(ARGV[1])) do
  if take(portion) then
    for _, word in ipairs(portion.words) do redis.call('RPUSH', KEYS[3], word) end
  end
end
return behind
"""
)


class Words:
    """A minimal store: a list of all stored records."""

    def __init__(self, client: Redis, name: str = "words") -> None:
        self._redis = client
        self._name = name
        self.positions = Positions(client, "Redis", name)

    def put(self, number: int, portion: Portion[str]) -> None:
        told = {**header(number, portion), "words": [each.record for each in portion.told]}
        keys = [*self.positions.keys, self._name]
        self.positions.raise_if(self._redis.eval(APPEND, len(keys), *keys, text([told])))

    def open(self, *numbers: int, begin: TailPosition = BEGIN) -> None:
        for number, portion in opening(*numbers, begin=begin).items():
            self.put(number, portion)

    @property
    def words(self) -> str:
        return b"".join(self._redis.lrange(self._name, 0, -1)).decode()


@pytest.fixture
def client(redis):
    with Redis.from_url(redis.url) as client:
        yield client


@pytest.fixture
def store(client):
    words = Words(client)
    words.open(0)
    return words


def portion(
    words: str, begin: TailPosition = BEGIN, caught_up_ms: int | None = None
) -> Portion[str]:
    """Returns a portion of one record per letter, with consecutive offsets from `begin` on."""
    reading: Reading[str] = Reading(begin)
    for offset, word in enumerate(words, begin.offset):
        reading.read(offset, 0, word)
    if caught_up_ms is not None:
        reading.reach(reading.position.offset)
        reading.expect(reading.position.offset, caught_up_ms)
    return reading.take() or Portion(begin, begin)


# Accepted portions


def test_portions_that_go_on_are_taken_and_the_position_with_them(store):
    first = portion("ab")
    second = portion("cd", first.end)
    for each in (first, second):
        store.put(0, each)
    assert store.words == "abcd"
    assert store.positions.get() == {0: second.end}


def test_an_overlapping_portion_is_accepted_and_the_position_never_goes_back(store):
    first = portion("abcd")
    store.put(0, first)
    store.put(0, portion("ab"))
    assert store.positions.get() == {0: first.end}


@pytest.mark.core
def test_a_portion_that_leaves_something_out_is_refused(store):
    first = portion("ab")
    store.put(0, first)
    with pytest.raises(StoreBehind, match=r"Redis .* partitions \[0\]"):
        store.put(0, portion("z", first.end._replace(offset=3)))
    assert store.words == "ab"
    assert store.positions.get() == {0: first.end}


def test_after_a_flush_the_next_portion_is_refused_also_an_empty_one(store, client):
    first = portion("ab")
    store.put(0, first)
    client.flushall()
    for behind in (portion("c", first.end), Portion(first.end, first.end)):
        with pytest.raises(StoreBehind):
            store.put(0, behind)
    assert store.positions.get() == {}


def test_a_redis_restored_from_yesterday_is_noticed_and_goes_on_from_there(store, client):
    yesterday = portion("ab")
    store.put(0, yesterday)
    dumps = {name: client.dump(name) for name in client.scan_iter()}
    today = portion("cd", yesterday.end)
    store.put(0, today)
    for name, dump in dumps.items():
        client.restore(name, 0, dump, replace=True)
    with pytest.raises(StoreBehind):
        store.put(0, portion("e", today.end))
    store.put(0, portion("cde", store.positions.get()[0]))
    assert store.words == "abcde"


def test_a_flushed_redis_has_no_age_while_a_copier_goes_on_with_what_is_empty(store, client):
    """Empty partitions continue from their start position, whether Redis was flushed or not."""
    store.open(1)
    full = portion("ab", caught_up_ms=NOW_MS)
    store.put(0, full)
    store.put(1, portion("", caught_up_ms=NOW_MS))
    assert store.positions.age(NOW_MS) == 0
    client.flushall()
    for number, going_on in ((1, portion("", caught_up_ms=NOW_MS)), (0, portion("c", full.end))):
        with pytest.raises(StoreBehind):
            store.put(number, going_on)
    assert store.positions.age(NOW_MS) is None
    store.open(0, 1)
    store.put(1, portion("", caught_up_ms=NOW_MS))
    assert store.positions.age(NOW_MS) is None
    store.put(0, full)
    assert store.positions.age(NOW_MS) == 0


def test_a_partition_that_came_later_is_opened_first(store):
    store.put(0, portion("a", caught_up_ms=NOW_MS))
    later = TailPosition(BEGIN.topic_id, 1)
    with pytest.raises(StoreBehind):
        store.put(1, portion("b", later))
    store.open(1, begin=later)
    assert store.positions.age(NOW_MS) is None
    store.put(1, portion("b", later, caught_up_ms=NOW_MS))
    assert store.positions.age(NOW_MS) == 0
    assert store.words == "ab"


# Eras


def test_a_newer_era_begins_at_the_beginning_and_nothing_late_is_taken_then(store):
    former = portion("abc")
    store.put(0, former)
    with pytest.raises(StoreBehind):
        store.put(0, portion("z", TailPosition("topic", 1, 2)))
    anew = portion("x", BEGIN.anew())
    store.put(0, anew)
    for late in (former, portion("d", former.end)):
        with pytest.raises(StoreBehind):
            store.put(0, late)
    assert store.words == "abcx"
    assert store.positions.get() == {0: anew.end}


def test_two_topics_are_never_one_era(store):
    store.put(0, portion("a"))
    with pytest.raises(StoreBehind):
        store.put(0, portion("b", TailPosition("another", 0)))


# Age


def test_the_age_is_that_of_the_partition_that_is_most_behind(store):
    age = store.positions.age
    assert age(NOW_MS) is None
    store.open(1)
    store.put(0, portion("", caught_up_ms=NOW_MS - 100))
    assert age(NOW_MS) is None
    store.put(1, portion("", caught_up_ms=NOW_MS - 900))
    assert age(NOW_MS) == 900
    for late_ms in (0, 950):
        store.put(1, portion("", caught_up_ms=NOW_MS - late_ms))
        assert age(NOW_MS) == 100


@pytest.mark.core
def test_while_a_log_is_read_anew_the_age_is_not_known(store):
    store.put(0, portion("", caught_up_ms=NOW_MS))
    assert store.positions.age(NOW_MS) == 0
    store.put(0, Portion(BEGIN.anew(), BEGIN.anew()))
    assert store.positions.age(NOW_MS) is None
    store.put(0, portion("", BEGIN.anew(), caught_up_ms=NOW_MS))
    assert store.positions.age(NOW_MS) == 0


def test_partitions_of_a_former_topic_do_not_count(store):
    store.open(1)
    for number in (0, 1):
        store.put(number, portion("", caught_up_ms=1))
    store.put(0, portion("", TailPosition("another", 1), caught_up_ms=NOW_MS))
    assert store.positions.age(NOW_MS) == 0


# Other properties


def test_logs_do_not_mix(store, client):
    other = Words(client, "other")
    store.put(0, portion("ab"))
    assert other.positions.get() == {}
    other.open(0)
    other.put(0, portion("c"))
    assert (store.words, other.words) == ("ab", "c")


def test_a_redis_that_is_away_is_named(tmp_path):
    with Redis.from_url(RedisServer(tmp_path).url) as client:
        positions = Positions(client, "Redis at home", "words")
        for ask in (positions.get, lambda: positions.age(1)):
            with pytest.raises(StoreUnreachable, match="Redis at home"):
                ask()
