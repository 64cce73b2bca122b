"""Stand-ins for the connections of a balancer, which note when they are opened and closed."""

from __future__ import annotations

from typing import Any

from replicator.config.topology import Appliance, Route
from replicator.placement.rounds.connections import BalancerConnections

APPLIANCE = Appliance.model_validate(
    {
        "routes": ["west>east", "east>east"],
        "regions": {
            name: {
                "redis": "redis://127.0.0.1:1",
                "regional": {"bootstrap": [f"{name}-regional:9092"]},
                "aggregate": {"bootstrap": [f"{name}-aggregate:9092"]},
            }
            for name in ("west", "east")
        },
    }
)


class NotedConnections(BalancerConnections):
    """Connections that are never made.

    Args:
        answers: by class and method, the value to return, or the error to raise.
    """

    def __init__(self, answers: dict[tuple[str, str], Any] | None = None) -> None:
        super().__init__(APPLIANCE, "east")
        self.opened: list[str] = []
        self.closed: list[str] = []
        self._answers = answers or {}

    def balance_log(self) -> Any:
        return self._opened("BalanceLog")

    def status_board(self) -> Any:
        return self._opened("StatusBoard")

    def source_watch(self, route: Route) -> Any:
        return self._opened("SourceWatch")

    def report_store(self) -> Any:
        return self._opened("CarrierReports")

    def answer(self, name: str, method: str) -> Any:
        answer = self._answers.get((name, method))
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer

    def _opened(self, name: str) -> Any:
        self.opened.append(name)
        return _Connection(name, self)


class _Connection:
    def __init__(self, name: str, connections: NotedConnections) -> None:
        self._name, self._connections = name, connections

    def __getattr__(self, method: str) -> Any:
        def call(*_: object) -> Any:
            return self._connections.answer(self._name, method)

        call.__name__ = method
        return call

    def close(self) -> Any:
        self._connections.closed.append(self._name)
        return self._connections.answer(self._name, "close")
