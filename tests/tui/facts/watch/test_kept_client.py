"""Client that lives from one question to the next, until it fails."""

import pytest

from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.watch.kept_client import KeptClient


class Client:
    """Client that counts how many were made, and remembers that it was closed."""

    made = 0

    def __init__(self):
        type(self).made += 1
        self.is_closed = False

    def close(self):
        self.is_closed = True


def test_the_client_is_kept_until_a_question_fails():
    seen = []
    kept = KeptClient("west Redis", Client)
    before = Client.made
    for _ in range(2):
        kept.ask(seen.append)
    assert Client.made == before + 1 and seen[0] is seen[1]

    def fails(client):
        raise StoreUnreachable("away")

    with pytest.raises(StoreUnreachable):
        kept.ask(fails)
    assert seen[0].is_closed
    kept.ask(seen.append)
    assert seen[2] is not seen[0]


def test_a_password_that_cannot_be_read_is_a_problem_of_the_server():
    def make():
        raise OSError("no such file")

    with pytest.raises(StoreUnreachable, match="west Redis: no such file"):
        KeptClient("west Redis", make).ask(lambda _: None)
