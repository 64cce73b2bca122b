"""Connections of a region's balancer: made here, and used by rounds and previews."""

from __future__ import annotations

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.orders.balance_log import BalanceLog
from replicator.orders.status_board import StatusBoard
from replicator.placement.rounds.route_inputs import RouteInputs
from replicator.placement.rounds.source_watch import SourceWatch
from replicator.placement.rounds.throughput_watch import ThroughputWatch


class BalancerConnections:
    """Maker of the connections of one region's balancer. The caller closes what is returned."""

    def __init__(self, appliance: Appliance, region: str) -> None:
        self._appliance, self._region = appliance, region
        self._settings = appliance.region(region)

    def balance_log(self) -> BalanceLog:
        return BalanceLog(ClusterName.aggregate(self._region), self._settings.aggregate)

    def status_board(self) -> StatusBoard:
        return StatusBoard(self._settings.redis_url(), self._region)

    def source_watch(self, route: Route) -> SourceWatch:
        return SourceWatch(self._appliance, route)

    def report_store(self, route: Route) -> OffsetStore:
        return OffsetStore(self._settings.redis_url(), route.key)

    def route_inputs(self, route: Route) -> RouteInputs:
        """Returns the inputs of a route into the region."""
        file = ThroughputWatch(self._appliance.balance.throughput_file, route.source)
        return RouteInputs(route, self.source_watch(route), self.report_store(route), file)
