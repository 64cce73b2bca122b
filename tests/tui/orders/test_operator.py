"""Operator name for the records of decisions."""

import getpass
import socket

from tui.orders.operator import operator


def test_it_names_user_and_host(monkeypatch):
    monkeypatch.setenv("LOGNAME", "ann")
    assert operator() == f"ann@{socket.gethostname()}"


def test_a_user_without_a_name_is_nobody(monkeypatch):
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert operator().startswith("nobody@")
