"""Task slots: how many there are where Spark adds and removes executors by itself, and how the
tasks of epochs and streaming queries share them.

A task of an epoch holds its slot for minutes. A query's tasks take a moment, many times a minute,
and would wait for the end of an epoch that has all slots.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

ENABLED = "spark.dynamicAllocation.enabled"
EXECUTORS_MAX = "spark.dynamicAllocation.maxExecutors"
CORES = "spark.executor.cores"
QUERY_TASKS = "spark.sluice.queryTasks"
"""Setting of our own: the most tasks that the application's streaming queries run at once."""
QUERY_CONF = {
    # Queries take turns: one with many tasks holds up no other.
    "spark.scheduler.mode": "FAIR",
    # A query's task learns whether it is the first attempt only within one attempt of its stage.
    "spark.stage.maxConsecutiveAttempts": "1",
    # A tick of 500 000 records holds half a GiB; several tables may catch up at once.
    "spark.driver.memory": "2g",
    "spark.executor.memory": "2g",
}
"""Settings of an application with streaming queries, beside QUERY_TASKS."""
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(,\d+)?\])?")


class SlotsUnlimited(ValueError):
    """No setting tells how many carriers there may be."""


def slots_at_most(conf: Mapping[str, str]) -> int:
    """Returns the most task slots that dynamic allocation can give; 0 without dynamic allocation.

    Spark adds executors for tasks that wait. So it has to be given more tasks than there are slots,
    and no more than there ever will be.

    Raises:
        SlotsUnlimited: the settings do not limit the slots.
    """
    if conf.get(ENABLED, "false").lower() != "true":
        return 0
    found = [conf.get(name, "") for name in (EXECUTORS_MAX, CORES)]
    if not all(number.isdigit() and int(number) > 0 for number in found):
        raise SlotsUnlimited(
            f"with {ENABLED}=true set {EXECUTORS_MAX} and {CORES} too, each to a number above 0: "
            "they say how many carriers there may be"
        )
    executors, cores = map(int, found)
    return executors * cores


class SharedSpark(NamedTuple):
    """Master and settings of an application with epochs and streaming queries."""

    master: str
    conf: dict[str, str]


def shared_spark(
    master: str, conf: Mapping[str, str], query_tasks: int, cores: int | None = None
) -> SharedSpark:
    """Returns master and settings of an application that runs streaming queries beside epochs.

    A local Spark gets slots for the queries, as many as it had at most: slots are threads there.
    Elsewhere they come out of those that there are (slots_of_epochs).

    Args:
        conf: the operator's, which override ours.
        query_tasks: the most tasks that all queries together run at once; 0: there are none.
        cores: of this host.
    """
    if not query_tasks:
        return SharedSpark(master, dict(conf))
    if local := _LOCAL.fullmatch(master):
        cores = cores or len(os.sched_getaffinity(0))
        given = local[1] or "1"
        slots = cores if given == "*" else int(given)
        query_tasks = min(query_tasks, cores, slots)
        master = f"local[{slots + query_tasks}{local[2] or ''}]"
    return SharedSpark(master, {**QUERY_CONF, **conf, QUERY_TASKS: str(query_tasks)})


def slots_of_epochs(slots: int, query_tasks: int) -> int:
    """Returns how many slots the tasks of epochs may hold: half of them at least, and one.

    With a single slot, queries run between epochs.

    Args:
        slots: all that there are.
        query_tasks: the most tasks that all queries together run at once.
    """
    return max(1, slots - min(query_tasks, slots // 2))
