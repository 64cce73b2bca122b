"""Probe for connections: asks every cluster of a configuration for its id."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from tui.state.connections import Connection, with_shared_ids_named


def connections_of(appliance: Appliance, timeout_seconds: float) -> tuple[Connection, ...]:
    """Contacts all clusters at the same time and returns their answers."""
    admins = [
        Admin(name, appliance.cluster(name), timeout_seconds) for name in appliance.cluster_names
    ]
    with ThreadPoolExecutor(len(admins)) as threads:
        return with_shared_ids_named(threads.map(_connection, admins))


def _connection(admin: Admin) -> Connection:
    name = str(admin.name)  # YAML takes no subclass of str
    try:
        return Connection(name, admin.cluster_id(), "")
    except AdminError as error:
        return Connection(name, None, str(error))
