"""Output of `sluice config check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from replicator.config.mistakes import ConfigMistakes
from replicator.config.topology import Appliance
from tui.commands.text import table
from tui.facts.connections import Connection


def mistakes_values(error: ConfigMistakes) -> dict[str, Any]:
    """Returns the mistakes of a configuration as plain values for JSON and YAML."""
    mistakes = [{"path": each.path, "text": each.text} for each in error.mistakes]
    return {"ok": False, "file": error.file, "mistakes": mistakes}


def as_values(
    file: str, appliance: Appliance, connections: Sequence[Connection] | None = None
) -> dict[str, Any]:
    """Returns a configuration without mistakes as plain values for JSON and YAML.

    Args:
        connections: None when the clusters were not asked.
    """
    values: dict[str, Any] = {
        "ok": all(each.is_sound for each in connections or ()),
        "file": file,
        "regions": sorted(appliance.regions),
        "routes": [route.name for route in appliance.routes],
        "topics": {"allow": list(appliance.topics.allow), "deny": list(appliance.topics.deny)},
        "feeds": sorted(appliance.feeds),
    }
    if connections is not None:
        values["clusters"] = [asdict(each) for each in connections]
    return values


def as_text(appliance: Appliance, connections: Sequence[Connection] | None = None) -> str:
    """Formats a configuration without mistakes for people, below its connections if there are any.

    With a problem of a connection, the connections alone are shown.
    """
    rows = [
        (name, *(", ".join(c.bootstrap) for c in (region.regional, region.aggregate)))
        for name, region in sorted(appliance.regions.items())
    ]
    routes = ", ".join(route.name for route in appliance.routes)
    text = f"ok\n{table(('REGION', 'REGIONAL', 'AGGREGATE'), rows)}\nroutes: {routes}"
    if appliance.feeds:
        text += f"\nfeeds: {', '.join(sorted(appliance.feeds))}"
    if connections is None:
        return text
    clusters = [(each.cluster, each.cluster_id, each.problem) for each in connections]
    are_sound = all(each.is_sound for each in connections)
    return f"{table(('CLUSTER', 'ID', 'PROBLEM'), clusters)}\n{text if are_sound else ''}"
