"""Command-line options for the limits of a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
LIMITS = {
    "capacity_mib_per_second": (float, "What one carrier moves, compressed."),
    "threshold": (float, "So much of a carrier's capacity is planned."),
    "carriers_min": (int, "It has so many carriers at least ..."),
    "carriers_max": (int, "... and so many at most; 0: as many as Spark has task slots."),
    "partitions_max": (int, "Of each carrier."),
    "memory_mib": (int, "Of each carrier: no more partitions than that is enough for; 0: no cap."),
    "lag_seconds_max": (float, "A partition that is further behind brings partitions to move."),
}


def limit_options(command: Command) -> Command:
    """Adds an option for each limit that a stream may set instead of its route's.

    deploy/appliance.toml explains each limit.
    """
    for name, (kind, text) in reversed(LIMITS.items()):
        option = f"--{name.replace('_', '-')}"
        command = click.option(option, name, type=kind, help=text)(command)
    return command
