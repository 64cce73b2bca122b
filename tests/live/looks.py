"""Traffic measurements of one minute each for a few partitions, written to a history and read."""

from __future__ import annotations

from balancer.demand.window import Window
from balancer.topic_partition import TopicPartition
from tests.balancer.demand.one_by_one import one_by_one

MINUTE, HOUR = 60_000, 3_600_000
NOON = 1_700_000_000_000 // HOUR * HOUR
DAY_LATER = NOON + 24 * HOUR
PLACES = [TopicPartition("a", 0), TopicPartition("a", 7), TopicPartition("b.c", 0)]


def look(at, rate, places=PLACES):
    """Returns the windows of minute `at`, with `rate` records of ten bytes a second."""
    begin = NOON + at * MINUTE
    return {place: Window(begin, begin + MINUTE, rate * 600, rate * 60) for place in places}


def written(history, minutes, rate=1, places=PLACES):
    looks = [look(at, rate, places) for at in minutes]
    for each in looks:
        history.write(each)
    return looks


def fine(history, begin_ms=NOON, end_ms=NOON + HOUR):
    return [one_by_one(columns) for columns in history.fine(begin_ms, end_ms)]


def coarse(history, begin_ms=NOON, end_ms=DAY_LATER):
    return [one_by_one(columns) for columns in history.coarse(begin_ms, end_ms)]
