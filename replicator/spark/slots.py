"""How many tasks can run at once where Spark adds and removes executors by itself."""

from __future__ import annotations

from collections.abc import Mapping

ENABLED = "spark.dynamicAllocation.enabled"
EXECUTORS_MAX = "spark.dynamicAllocation.maxExecutors"
CORES = "spark.executor.cores"


class SlotsUnlimited(ValueError):
    """Nothing says how many carriers there may be."""


def slots_at_most(conf: Mapping[str, str]) -> int:
    """With dynamic allocation, the task slots that there may be; 0 without.

    Spark adds executors to tasks that wait for them: so more tasks have to be given to it than
    there are slots, and no more than there ever will be.

    Raises SlotsUnlimited.
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
