"""Two regions, and answers that their servers gave at a fixed time."""

from __future__ import annotations

from typing import Any

from replicator.config.topology import Appliance
from tui.facts.watch.question import Answer, Answers, Key

NOW = 1_800_000_000.0
NOW_MS = int(NOW * 1000)


def appliance(*regions: str, **sections: object) -> Appliance:
    """Returns regions whose servers nobody asks, with more sections of a configuration."""
    tables = {
        name: {
            "redis": f"redis://127.0.0.1:{number}",
            "regional": {"bootstrap": [f"127.0.0.1:{number + 100}"]},
            "aggregate": {"bootstrap": [f"127.0.0.1:{number + 200}"]},
        }
        for number, name in enumerate(regions or ("east", "west"), 1)
    }
    # Absolute, because these regions come from no file whose folder would count.
    found = {"regions": tables, "replicator": {"state_dir": "/nowhere"}, **sections}
    return Appliance.model_validate(found)


def answered(values: dict[Key, Any], seconds_ago: float = 1.0) -> Answers:
    """Returns answers that all came so long before NOW."""
    return Answers({key: Answer(value, NOW - seconds_ago) for key, value in values.items()})
