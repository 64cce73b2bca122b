"""A server that does not answer is called no more, and named once."""

from __future__ import annotations

import pytest

from replicator.audit.servers import Servers
from replicator.kafka.client.brokers import Unreachable
from replicator.runtime.store_errors import StoreUnreachable


class Server:
    """Server that answers, or raises an error, and counts the calls."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls = 0
        self._error = error

    async def ask(self) -> str:
        self.calls += 1
        if self._error:
            raise self._error
        return "answer"


async def test_an_answer_is_returned() -> None:
    servers = Servers()
    assert await servers.call("west Redis", Server().ask) == "answer"
    assert servers.problems == ()


@pytest.mark.parametrize("error", [StoreUnreachable("Redis is away"), Unreachable("no broker")])
async def test_a_server_that_does_not_answer_is_called_once(error: Exception) -> None:
    servers, away = Servers(), Server(error)
    assert [await servers.call("west", away.ask) for _ in range(3)] == [None] * 3
    assert (away.calls, servers.problems) == (1, (str(error),))
    assert await servers.call("east", Server().ask) == "answer"


async def test_any_other_error_passes_through() -> None:
    with pytest.raises(ValueError, match="mine"):
        await Servers().call("west", Server(ValueError("mine")).ask)


def test_the_first_error_of_a_server_is_kept_and_equal_texts_are_named_once() -> None:
    servers = Servers()
    for name, text in (("a", "gone"), ("a", "later"), ("b", "gone")):
        servers.give_up(name, Unreachable(text))
    assert servers.problems == ("gone",)
