"""Any TrafficHistory fills a look-back: here one in memory; in Redis, RedisHistory."""

from balancer.demand.look_back import LookBack
from balancer.demand.window import Rate, Window
from balancer.demand.window_columns import WindowColumns, summed
from balancer.topic_partition import TopicPartition
from replicator.placement.traffic.redis_history import RedisHistory
from replicator.placement.traffic.traffic_history import TrafficHistory

NOON = 1_700_000_000_000 // 3_600_000 * 3_600_000
A = TopicPartition("t", 0)


class Remembered:
    """TrafficHistory in the memory of this process."""

    def __init__(self):
        self.looks = []
        self.is_closed = False

    def close(self):
        self.is_closed = True

    def write(self, windows):
        self.looks.append(WindowColumns.of(windows))

    def fine(self, begin_ms, end_ms):
        yield from (look.ending(begin_ms, end_ms) for look in self.looks)

    def coarse(self, begin_ms, end_ms):
        yield summed(look.ending(begin_ms, end_ms) for look in self.looks)


def test_a_look_back_is_filled_from_any_history():
    history: TrafficHistory = Remembered()
    for at in range(10):
        begin = NOON + at * 60_000
        history.write({A: Window(begin, begin + 60_000, 600, 60)})
    back = LookBack()
    now_ms = NOON + 10 * 60_000
    for look in history.coarse(now_ms - 25 * 3_600_000, now_ms):
        back.add_coarse(look)
    for look in history.fine(now_ms - 3_600_000, now_ms):
        back.add(look)
    assert back.rates(now_ms) == {A: Rate(10.0, 1.0)}
    assert back.rates(now_ms + 2 * 3_600_000) == {A: Rate(10.0, 1.0)}


def test_the_store_in_redis_is_one():
    history: TrafficHistory = RedisHistory("redis://localhost:1/0", "west")
    assert history
