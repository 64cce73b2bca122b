"""Traffic of a few partitions in windows of a minute, and look-backs that are filled with it."""

from balancer.demand.look_back import LookBack
from balancer.demand.window import HOUR_MS, Window
from balancer.topic_partition import TopicPartition

MINUTE = 60_000
NOON = 1_700_000_000_000 // HOUR_MS * HOUR_MS
A, B, C = (TopicPartition("t", number) for number in range(3))


def minute(at, rate, length=1):
    """Returns a window with `rate` records of ten bytes a second.

    Args:
        at: start of the window, in minutes after noon.
        length: length of the window in minutes.
    """
    records = rate * 60 * length
    return Window(NOON + at * MINUTE, NOON + (at + length) * MINUTE, records * 10, records)


def filled(*windows):
    """Returns a look-back with these windows of partition A."""
    back = LookBack()
    for window in windows:
        back.add({A: window})
    return back


def rate_of(*windows, end_ms=HOUR_MS):
    return filled(*windows).rates(end_ms)[A]
