"""Probe for connections: asks every cluster of a configuration for its id."""

from __future__ import annotations

from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from tui.facts.connections import Connection, with_shared_ids_named
from tui.facts.watch.inquiry import Inquiry


def connections_of(appliance: Appliance, timeout_seconds: float) -> tuple[Connection, ...]:
    """Contacts all clusters at the same time and returns their answers, after the timeout at the
    latest."""
    inquiry = Inquiry(timeout_seconds)
    names = appliance.cluster_names
    admins = [Admin(name, appliance.cluster(name), timeout_seconds) for name in names]
    asked = {
        name: inquiry.ask_cluster(name, admin.cluster, admin.cluster_id)
        for name, admin in zip(names, admins, strict=True)
    }
    ids = {name: reply.answer() for name, reply in asked.items()}
    problems = inquiry.problems
    return with_shared_ids_named(
        Connection(str(name), cluster_id, problems.get(name, ""))  # YAML takes no subclass of str
        for name, cluster_id in ids.items()
    )
