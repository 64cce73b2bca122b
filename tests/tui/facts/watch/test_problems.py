"""Servers that give no answer become problems; all other errors stay errors."""

import pytest

from replicator.kafka.admin.admin_error import AdminError, NotAuthorized
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.runtime.store_errors import StoreForbidden, StoreUnreachable
from tui.facts.watch.problems import answer_or_none


def raising(error: Exception):
    def ask():
        raise error

    return ask


def test_an_answer_is_returned_and_nothing_noted():
    noted = []
    assert answer_or_none(lambda: 7, noted.append) == 7
    assert noted == []


@pytest.mark.parametrize(
    "error",
    [AdminError("east aggregate", "away"), LogUnreadable("away"), StoreUnreachable("away")],
)
def test_a_server_that_gives_no_answer_is_noted(error):
    noted = []
    assert answer_or_none(raising(error), noted.append) is None
    assert noted == [str(error)]


@pytest.mark.parametrize(
    "error",
    [
        StoreForbidden("Redis at x: User viewer has no permissions to run 'zrange'"),
        NotAuthorized("Redis at x", "topics: viewer may not (x); grant the right"),
        LogUnreadable("Redis at x: TOPIC_AUTHORIZATION_FAILED"),
    ],
)
def test_a_right_that_is_missing_is_called_so(error):
    noted = []
    answer_or_none(raising(error), noted.append)
    rest = str(error).removeprefix("Redis at x: ")
    assert noted == [f"Redis at x: lacks the right: {rest}"]


def test_another_error_is_a_problem_only_where_the_caller_says_so():
    noted = []
    assert answer_or_none(raising(ValueError("broken")), noted.append, ValueError) is None
    assert noted == ["broken"]
    with pytest.raises(ValueError, match="broken"):
        answer_or_none(raising(ValueError("broken")), noted.append)
