"""Claims about kept epochs: they are started again, and a Spark that has ended is named."""

import asyncio
import math
import threading
import time
from contextlib import suppress

import pytest

from replicator.spark.epoch_source import RunningEpoch
from replicator.spark.kept_epochs import KeptEpochs, end_overdue
from replicator.spark.session import SparkGone


class Session:
    def __init__(self, *, has_ended=False):
        self._has_ended = has_ended

    def has_ended(self):
        return self._has_ended


class Runner:
    """Stream that runs until it is stopped; `fails` in its first epoch, if told to, and ends a
    moment later."""

    def __init__(self, *, fails=False):
        self.over = threading.Event()
        self._fails = fails

    def wait_warm(self):
        return not self._fails

    def wait(self):
        if self._fails:
            time.sleep(0.01)
            raise RuntimeError("a task failed 8 times\nat java.lang.Thread")
        self.over.wait()

    def stop(self):
        self.over.set()


def fails():
    return Runner(fails=True)


def never_ends():
    return Runner()


SHORT = (0.001, 0.002)


async def ended(task):
    with suppress(asyncio.CancelledError):
        task.cancel()
        await task


async def test_a_stream_that_failed_is_started_again_and_is_warm_then(caplog):
    runners = [Runner(fails=True), Runner()]
    started = []

    def start():
        started.append(runners[len(started)])
        return started[-1]

    epochs = KeptEpochs(Session(), start, SHORT)
    keeping = asyncio.ensure_future(epochs.keep())
    async with asyncio.timeout(5):
        await epochs.warm.wait()
    assert started == runners
    assert caplog.messages == ["event=query-failed again_in_seconds=0: a task failed 8 times"]
    await epochs.stop()
    assert runners[1].over.is_set()
    await ended(keeping)


async def test_a_spark_that_has_ended_ends_the_stream():
    epochs = KeptEpochs(Session(has_ended=True), fails, SHORT)
    with pytest.raises(SparkGone):
        await epochs.keep()
    assert not epochs.warm.is_set()


async def test_before_its_start_there_is_nothing_to_wait_for_or_to_stop():
    epochs = KeptEpochs(Session(), never_ends)
    await epochs.wait_idle(60.0)
    await epochs.stop()


async def test_an_epoch_that_outlasts_its_time_is_ended_once(caplog):
    caplog.set_level("INFO")
    late, in_time = RunningEpoch(time.monotonic() - 700.0, 600.0), RunningEpoch(math.inf, 600.0)
    looks, ends = [None, in_time, late, late, late, in_time], []

    def running():
        if not looks:
            raise EOFError
        return looks.pop(0)

    with pytest.raises(EOFError):
        await end_overdue(running, lambda: ends.append(len(looks)), look_seconds=0.001)
    assert ends == [3]
    assert caplog.messages == ["event=epoch-overdue seconds=600: the plan is posted anew"]


def test_a_stream_that_has_not_begun_runs_no_epoch():
    assert KeptEpochs(Session(), never_ends).epoch is None
