"""Metrics ports of a region's daemons, which may share a machine."""

from collections.abc import Iterator, Mapping
from typing import Any

PORTS = (
    ("metrics", "port"),
    ("offsets", "metrics_port"),
    ("balance", "metrics_port"),
    ("aggregator", "metrics_port"),
    ("aggregator", "verifier_metrics_port"),
)
"""(table, key) of each metrics port."""


def shared_ports(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (key, text) of each port that is another's too, however broken other values are."""
    owners: dict[int, str] = {}
    for table, key in PORTS:
        values = raw.get(table)
        port = values.get(key) if isinstance(values, Mapping) else None
        if not isinstance(port, int) or not port:
            continue
        name = f"{table}.{key}"
        owner = owners.setdefault(port, name)
        if owner != name:
            yield name, f"{port} is {owner} as well: each daemon needs a port of its own"
