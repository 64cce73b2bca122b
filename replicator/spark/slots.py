"""Task slots where Spark adds and removes executors by itself (dynamic allocation)."""

from __future__ import annotations

from collections.abc import Mapping

ENABLED = "spark.dynamicAllocation.enabled"
EXECUTORS_MAX = "spark.dynamicAllocation.maxExecutors"
CORES = "spark.executor.cores"


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
