"""Clients: made once for each cluster, kept from question to question, tried again."""

import pytest

from replicator.config.cluster_name import ClusterName
from replicator.runtime.store_errors import StoreUnreachable
from tests.tui.facts.watch.told import appliance
from tui.facts.part import THIS_CONSOLE
from tui.facts.watch.admins import Admins
from tui.facts.watch.assembly import Attempts
from tui.facts.watch.kept_client import KeptClient

# --- Admin clients: one for each cluster of the appliance.


def test_all_questions_to_a_cluster_share_one_client() -> None:
    admins = Admins(appliance("west"), 3.0)
    name = ClusterName.regional("west")
    assert admins.of(name) is admins.of(ClusterName("west regional"))
    assert (admins.of(name).name, admins.of(name).timeout_seconds) == ("west regional", 3.0)
    assert admins.cluster(name).bootstrap == admins.appliance.region("west").regional.bootstrap


# --- Client that lives from one question to the next, until it fails.


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


# --- Attempts: a part that fails is left out, and told until it can be made again.


def failing() -> str:
    raise KeyError("x")


def test_what_can_be_made_is_made() -> None:
    attempts = Attempts()
    assert attempts.made("groups", lambda: "all", "none", now=1.0) == "all"
    assert attempts.failed == ()


def test_what_fails_is_replaced_and_told_since_it_began() -> None:
    attempts = Attempts()
    assert attempts.made("groups", failing, "none", now=1.0) == "none"
    assert attempts.made("groups", failing, "none", now=2.0) == "none"
    (part,) = attempts.failed
    assert (part.server, part.about, part.asked_at) == (THIS_CONSOLE, "groups", 2.0)
    assert part.problem == "this console: groups cannot be shown: KeyError: 'x'"
    assert part.problem_since == 1.0
    attempts.made("groups", lambda: "all", "none", now=3.0)
    assert attempts.failed == ()
