import pytest
import redis

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
