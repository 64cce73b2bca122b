"""Command-line options for the limits of a stream."""

from __future__ import annotations

import click

from tui.commands.options import Command

LIMITS = {
    "capacity_mib_per_second": (float, "Compressed MiB per second that one carrier can move."),
    "threshold": (float, "Part of a carrier's capacity that is planned for."),
    "carriers_min": (int, "Minimum number of carriers."),
    "carriers_max": (int, "Maximum number of carriers; 0: as many as Spark has task slots."),
    "partitions_max": (int, "Maximum number of partitions of one carrier."),
    "memory_mib": (int, "Memory of one carrier, which caps its partitions; 0: no cap."),
    "lag_seconds_max": (float, "Lag of a partition above which partitions are moved."),
}


def limit_options(command: Command) -> Command:
    """Adds an option for each limit that a stream may set instead of its route's.

    deploy/appliance.toml explains each limit.
    """
    for name, (kind, text) in reversed(LIMITS.items()):
        option = f"--{name.replace('_', '-')}"
        command = click.option(option, name, type=kind, help=text)(command)
    return command
