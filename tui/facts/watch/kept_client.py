"""Client that a question keeps from one look to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.watch.question import Key, Question


class Closable(Protocol):
    """Client with connections."""

    def close(self) -> None:
        """Closes them."""


C = TypeVar("C", bound=Closable)
T = TypeVar("T")


class KeptClient(Generic[C]):
    """Keeper of one client, for one thread.

    Args:
        server: its name for people.
        make: called at the first use, and again after an error: passwords and addresses change.
    """

    def __init__(self, server: str, make: Callable[[], C]) -> None:
        self._server, self._make = server, make
        self._client: C | None = None

    def ask(self, question: Callable[[C], T]) -> T:
        """Returns the answer to a question to the client; raises what it raises.

        Raises:
            StoreUnreachable: a file that the client needs, as for its password, cannot be read.
        """
        client = self._client if self._client is not None else self._made()
        self._client = None
        try:
            answer = question(client)
        except BaseException:
            client.close()
            raise
        self._client = client
        return answer

    def close(self) -> None:
        """Closes the client that is kept."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _made(self) -> C:
        try:
            return self._make()
        except OSError as error:
            raise StoreUnreachable(f"{self._server}: {error}") from error


def kept_question(
    key: Key,
    cadence_seconds: float,
    make: Callable[[], C],
    ask: Callable[[C], Any],
    *,
    is_once: bool = False,
) -> Question:
    """Returns a question to a server whose client is kept from one answer to the next.

    Args:
        make: see KeptClient.
        ask: called with the client.
    """
    kept = KeptClient(key.server, make)
    return Question(
        key=key,
        cadence_seconds=cadence_seconds,
        ask=lambda: kept.ask(ask),
        is_once=is_once,
        close=kept.close,
    )
