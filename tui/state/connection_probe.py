"""Probe for connections: asks every cluster of a configuration for its id."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from replicator.config.topology import ROLES, Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from tui.state.connections import Connection, with_shared_ids_named


def connections_of(appliance: Appliance, timeout_seconds: float) -> tuple[Connection, ...]:
    """Contacts all clusters at the same time and returns their answers."""
    admins = [
        Admin(f"{name} {role}", getattr(region, role), timeout_seconds)
        for name, region in sorted(appliance.regions.items())
        for role in ROLES
    ]
    with ThreadPoolExecutor(len(admins)) as threads:
        return with_shared_ids_named(threads.map(_connection, admins))


def _connection(admin: Admin) -> Connection:
    try:
        return Connection(admin.name, admin.cluster_id(), "")
    except AdminError as error:
        return Connection(admin.name, None, str(error))
