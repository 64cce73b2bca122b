"""Servers that give no answer become problems; all other errors stay errors."""

import pytest

from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.runtime.store_errors import StoreUnreachable
from tui.state.problems import answer_or_none


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


def test_another_error_is_a_problem_only_where_the_caller_says_so():
    noted = []
    assert answer_or_none(raising(ValueError("broken")), noted.append, ValueError) is None
    assert noted == ["broken"]
    with pytest.raises(ValueError, match="broken"):
        answer_or_none(raising(ValueError("broken")), noted.append)
