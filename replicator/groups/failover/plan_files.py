"""Saved plans: one file each in `<replicator.state_dir>/plans`, kept after they were applied.

A plan is applied from its saved file, so what is applied is what was read and confirmed.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from replicator.groups.planning.failover_plan import BrokenPlan, Plan, UnknownPlan, decode, encode
from replicator.runtime.private_files import private_folder, write_private

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class PlanMissing(ValueError):
    """There is no such plan. `sluice failover list` names the saved plans."""


class PlanNotKept(Exception):
    """The directory of plans cannot be written or read. Correct it, or replicator.state_dir."""


def new_id(now_ms: int) -> str:
    """Returns an id that sorts by time and can be read out on the phone: 20130101-000000-3f9a."""
    at = datetime.fromtimestamp(now_ms / 1000, UTC)
    return f"{at:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class PlanFiles:
    """Plans of one appliance, in a directory that is created when the first one is saved."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def save(self, plan: Plan) -> Path:
        """Saves a plan, whole or not at all, and returns its path. Raises PlanNotKept."""
        path = self._directory / f"{plan.id}.json"
        try:
            private_folder(self._directory)
            return write_private(path, encode(plan).encode(), is_on_disk=True)
        except OSError as error:
            raise PlanNotKept(f"plan {plan.id} cannot be saved: {error}") from error

    def load(self, name: str) -> Plan:
        """Returns the plan with an id, or in the file at a path.

        Raises PlanMissing, BrokenPlan, UnknownPlan for a plan of another version, or PlanNotKept
        where other users may write to the directory.
        """
        saved = self._directory / f"{name}.json"
        try:
            path = saved if ID.fullmatch(name) and saved.is_file() else Path(name)
            if path == saved:
                private_folder(self._directory)
        except OSError as error:
            raise PlanNotKept(f"plan {name} is not read: {error}") from error
        try:
            text = path.read_bytes()
        except (OSError, ValueError):
            raise PlanMissing(f"no plan {name!r} in {self._directory}, and no such file") from None
        try:
            return decode(text)
        except BrokenPlan as error:
            raise BrokenPlan(f"{path}: {error}") from error
        except UnknownPlan as error:
            raise UnknownPlan(f"{path}: {error}") from error

    def all(self) -> Iterator[tuple[str, Plan | BrokenPlan | UnknownPlan]]:
        """Yields each plan with its id, oldest first; an unreadable plan as its error.

        Raises PlanNotKept.
        """
        try:
            names = sorted(path.stem for path in self._directory.glob("*.json"))
        except OSError as error:
            raise PlanNotKept(f"{self._directory} cannot be read: {error}") from error
        for name in names:
            try:
                yield name, self.load(name)
            except PlanMissing:
                continue
            except (BrokenPlan, UnknownPlan) as error:
                yield name, error
