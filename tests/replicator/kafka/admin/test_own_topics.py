"""Own topics are created where they are missing; requests that change topics."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.admin.admin import Outcome
from replicator.kafka.admin.admin_error import AdminError, UnknownTopic
from replicator.kafka.admin.own_topics import make_topics
from replicator.kafka.admin.topic import number
from replicator.kafka.admin.topic_changes import Alter, Create, requests

# -- Own topics are created where they are missing, and awaited until the cluster shows them.

CREATES = [Create(name, 1, (), -1) for name in ("sluice.a", "sluice.b")]


class Admin:
    """Cluster that shows a created topic only after some more questions."""

    name = "east aggregate"

    def __init__(self, shown: set[str], hidden_for: int = 0, error: AdminError | None = None):
        self.created: list[str] = []
        self._shown = shown
        self._hidden_for = hidden_for
        self._error = error

    def topics(self, names):
        if self.created and self._hidden_for:
            self._hidden_for -= 1
            return []
        return [SimpleNamespace(name=name) for name in (*self._shown, *self.created)]

    def apply(self, actions):
        self.created = [action.topic for action in actions]
        return [Outcome(action, self._error) for action in actions]


def test_only_missing_topics_are_created_and_they_are_awaited():
    admin = Admin({"sluice.a"}, hidden_for=2)
    make_topics(admin, CREATES)
    assert admin.created == ["sluice.b"]
    assert {topic.name for topic in admin.topics(())} == {"sluice.a", "sluice.b"}


def test_a_topic_that_cannot_be_created_is_an_error():
    with pytest.raises(AdminError, match="policy"):
        make_topics(Admin(set(), error=AdminError("east aggregate", "policy")), CREATES)


def test_topics_that_stay_hidden_are_named():
    with pytest.raises(UnknownTopic, match=r"\['sluice.a', 'sluice.b'\]"):
        make_topics(Admin(set(), hidden_for=100), CREATES, visible_seconds=0.0)


@pytest.mark.parametrize(("text", "size"), [("0.5", Decimal("0.5")), (None, None), ("true", None)])
def test_a_number_is_read_exactly_or_not_at_all(text: str | None, size: Decimal | None) -> None:
    assert number("segment.ms", text) == size


# -- Changes of topics, in requests that a controller takes.


@given(st.lists(st.integers(1, 9000), max_size=30))
def test_requests_are_as_small_as_a_controller_takes(sizes: list[int]) -> None:
    actions = [Create(f"t{n:02}", size, (), -1) for n, size in enumerate(sizes)]
    actions += [Alter(f"t{n:02}", (("retention.ms", "1"),)) for n in range(len(sizes))]
    made = list(requests(actions))
    assert sorted(map(str, (it for request in made for it in request))) == sorted(map(str, actions))
    for request in made:
        assert len({type(action) for action in request}) == 1
        records = sum(it.partitions + 1 for it in request if isinstance(it, Create))
        assert len(request) == 1 or records <= 5000
