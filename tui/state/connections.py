"""Connection check: every cluster of a configuration answers, and no two are the same."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from replicator.config.topology import ROLES, Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from tui.cli.exit_codes import ExitCode
from tui.cli.output import table


@dataclass(frozen=True, slots=True)
class Connection:
    """Answer of one cluster; `cluster_id` is None when the cluster did not answer."""

    cluster: str
    cluster_id: str | None
    problem: str


@dataclass(frozen=True, slots=True)
class Connections:
    connections: tuple[Connection, ...]

    @property
    def exit_code(self) -> ExitCode:
        if any(connection.cluster_id is None for connection in self.connections):
            return ExitCode.UNREACHABLE
        return ExitCode.USAGE if any(c.problem for c in self.connections) else ExitCode.DONE

    def as_values(self) -> list[dict[str, Any]]:
        return [asdict(connection) for connection in self.connections]

    def as_table(self) -> str:
        rows = [(c.cluster, c.cluster_id, c.problem) for c in self.connections]
        return table(("CLUSTER", "ID", "PROBLEM"), rows)


def connected(appliance: Appliance, timeout_seconds: float) -> Connections:
    """Contacts all clusters at the same time and returns their answers."""
    admins = [
        Admin(f"{name} {role}", getattr(region, role), timeout_seconds)
        for name, region in sorted(appliance.regions.items())
        for role in ROLES
    ]
    with ThreadPoolExecutor(len(admins)) as threads:
        return Connections(judged(list(threads.map(asked, admins))))


def asked(admin: Admin) -> Connection:
    try:
        return Connection(admin.name, admin.cluster_id(), "")
    except AdminError as error:
        return Connection(admin.name, None, str(error))


def judged(connections: Sequence[Connection]) -> tuple[Connection, ...]:
    """Adds a problem to each cluster whose id an earlier one has.

    Two addresses can lead to one cluster; a route between them would be a loop.
    """
    first: dict[str, str] = {}
    found = []
    for connection in connections:
        known = connection.cluster_id
        if known is not None and first.setdefault(known, connection.cluster) != connection.cluster:
            text = f"the same cluster as {first[known]}: each needs its own"
            connection = Connection(connection.cluster, known, text)
        found.append(connection)
    return tuple(found)
