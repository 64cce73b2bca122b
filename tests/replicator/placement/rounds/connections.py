"""Stand-ins for the connections of a balancer, which note when they are opened and closed."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.config.topology import Appliance

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


class Connections:
    """Replaces the classes of a module that hold connections.

    Args:
        answers: by class and method, the value to return, or the error to raise.
    """

    def __init__(self, answers: dict[tuple[str, str], Any] | None = None) -> None:
        self.opened: list[str] = []
        self.closed: list[str] = []
        self._answers = answers or {}

    def replace(self, monkeypatch: pytest.MonkeyPatch, module: object, *names: str) -> None:
        for name in names:
            monkeypatch.setattr(module, name, self._class(name))

    def _class(self, name: str) -> Any:
        connections = self

        class Connection:
            def __init__(self, *_: object) -> None:
                connections.opened.append(name)

            def __getattr__(self, method: str) -> Any:
                return lambda *_: connections._answer(name, method)

            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                self.close()

            def close(self) -> Any:
                connections.closed.append(name)
                return connections._answer(name, "close")

        return Connection

    def _answer(self, name: str, method: str) -> Any:
        answer = self._answers.get((name, method))
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer
