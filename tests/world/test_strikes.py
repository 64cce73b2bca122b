"""Processes are struck around requests of some API: a request is known by its bytes."""

from __future__ import annotations

import pytest

from tests.world.faults.strikes import APIS, api_key


@pytest.mark.parametrize("key", APIS)
def test_a_request_is_known_by_the_key_of_its_api(key: int) -> None:
    assert api_key(b"\0\0\0\4" + key.to_bytes(2) + b"\0\1") == key


@pytest.mark.parametrize("data", [b"", b"*3\r\n", b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n"])
def test_what_redis_is_asked_is_no_request_of_kafka(data: bytes) -> None:
    assert api_key(data) is None
