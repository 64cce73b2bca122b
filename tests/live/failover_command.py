"""`sluice failover` as an operator runs it, and its output."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from replicator.groups.failover.plan_files import PlanFiles
from tests.live.relocating import Relocating

TIMEOUT = ("--timeout", "10")

Sluice = Callable[..., tuple[int, str, str]]
"""A function that runs the program and returns its exit code, stdout and stderr."""


def plan_arguments(regions: Relocating, *more: str, group: str | None = None) -> list[str]:
    way = ["--from", regions.west, "--to", regions.east, "--group", group or regions.group]
    what = ["failover", "plan", "--config", str(regions.config), *way]
    return [*what, "--reason", "west is lost", *TIMEOUT, *more]


def planned(sluice: Sluice, regions: Relocating, *more: str, code: int = 0) -> dict[str, Any]:
    ended, out, err = sluice(*plan_arguments(regions, "-o", "json", *more))
    assert ended == code, (out, err)
    value = json.loads(out)
    assert isinstance(value, dict)
    return value


def applied(sluice: Sluice, regions: Relocating, plan: str, *more: str) -> tuple[int, str, str]:
    confirm = f"{regions.west}:{regions.east}"
    what = ("failover", "apply", plan, "--config", str(regions.config), *TIMEOUT)
    return sluice(*what, "--confirm", confirm, *more)


def verified(sluice: Sluice, regions: Relocating, plan: str) -> tuple[int, str, str]:
    return sluice("failover", "verify", plan, "--config", str(regions.config), *TIMEOUT)


def levels(plan: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["level"] for check in plan["checks"]}


def plans(regions: Relocating) -> PlanFiles:
    return PlanFiles(regions.config.parent / "state" / "plans")
