"""Errors: of stores, without a text, and those that decide how a daemon ends."""

import pytest
import redis

from replicator.runtime.error_text import error_text
from replicator.runtime.exit_codes import decisive, leaves
from replicator.runtime.store_errors import StoreForbidden, StoreUnreachable, reached, redis_name


@pytest.mark.parametrize(
    "url",
    [
        "redis://host:6379/0",
        "redis://:secret@host:6379/0",
        "redis://user:secret@host:6379/0",
        "redis://user:sec@ret@host:6379/0?password=secret",
    ],
)
def test_a_redis_is_named_by_its_address_and_never_with_its_password(url):
    assert redis_name(url) == "Redis at redis://host:6379/0"


def test_what_goes_wrong_names_the_redis_its_own_words_and_what_goes_on_meanwhile():
    with (
        pytest.raises(StoreUnreachable, match=r"^Redis at x: no route; reading goes on$") as found,
        reached("Redis at x", "reading goes on"),
    ):
        raise redis.ConnectionError("no route")
    assert isinstance(found.value.__cause__, redis.ConnectionError)
    with pytest.raises(StoreUnreachable, match=r"^Redis at x: no route$"), reached("Redis at x"):
        raise redis.ConnectionError("no route")


def test_a_right_that_is_missing_is_told_apart_from_a_redis_that_is_silent():
    with pytest.raises(StoreForbidden, match="no permissions"), reached("Redis at x"):
        raise redis.exceptions.NoPermissionError("User viewer has no permissions")
    with pytest.raises(StoreUnreachable) as found, reached("Redis at x"):
        raise redis.AuthenticationError("invalid username-password pair")
    assert not isinstance(found.value, StoreForbidden)


def test_faults_that_are_not_of_the_redis_stay_what_they_are():
    with pytest.raises(KeyError), reached("Redis at x"):
        raise KeyError("runs")


# -- An error without a text has the name of its class.


def test_an_error_without_a_text_is_named_by_its_class():
    assert error_text(TimeoutError()) == "TimeoutError"
    assert error_text(OSError(111, "Connection refused")) == "[Errno 111] Connection refused"


# -- Among several errors a fence decides how a daemon ends, and otherwise the first error.

FENCE = KeyError("fence")
GROUP = ExceptionGroup("", [ValueError("a"), ExceptionGroup("", [FENCE, ValueError("b")])])


def test_the_errors_of_groups_within_groups_are_found():
    assert [str(each) for each in leaves(GROUP)] == ["a", "'fence'", "b"]
    assert list(leaves(FENCE)) == [FENCE]


def test_a_fence_counts_before_all_else_and_otherwise_what_came_first():
    assert decisive(GROUP, (KeyError,)) is FENCE
    assert str(decisive(GROUP, (OSError,))) == "a"
