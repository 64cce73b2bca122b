"""Admin clients of an appliance: one for each cluster, shared by all questions to it."""

from __future__ import annotations

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, KafkaCluster
from replicator.kafka.admin.admin import Admin


class Admins:
    """Admin clients by cluster; they connect when first asked, and may be used by any thread."""

    def __init__(self, appliance: Appliance, timeout_seconds: float) -> None:
        self.appliance, self.timeout_seconds = appliance, timeout_seconds
        self._known = {
            name: Admin(name, appliance.cluster(name), timeout_seconds)
            for name in appliance.cluster_names
        }

    def of(self, name: ClusterName) -> Admin:
        return self._known[name]

    def cluster(self, name: ClusterName) -> KafkaCluster:
        """Returns the addresses of a cluster."""
        return self._known[name].cluster
