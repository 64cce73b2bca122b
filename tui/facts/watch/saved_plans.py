"""Saved plans of an appliance."""

from __future__ import annotations

from pathlib import Path

from replicator.config.topology import Appliance
from replicator.groups.failover.fresh_plans import checked
from replicator.groups.failover.plan_files import PlanFiles
from replicator.groups.planning.failover_plan import Plan


def plan_folder(appliance: Appliance) -> Path:
    """Returns the path of the folder of saved plans; it need not exist."""
    return appliance.replicator.state_dir / "plans"


def plan_files(appliance: Appliance) -> PlanFiles:
    """Returns the directory of saved plans."""
    return PlanFiles(plan_folder(appliance))


def load_plan(appliance: Appliance, name: str) -> Plan:
    """Returns a saved plan that the appliance's routes allow.

    Raises NoWay, UnknownRegion, and whatever `PlanFiles.load` raises.
    """
    plan = plan_files(appliance).load(name)
    checked(appliance, plan.source, plan.target)
    return plan
