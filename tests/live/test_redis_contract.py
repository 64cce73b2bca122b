"""A real Redis answers as the contract says, to which the simulated one is held as well."""

from __future__ import annotations

import pytest

from deploy.lab.redis import RedisServer
from tests.world.contracts import redis_commands

pytestmark = [pytest.mark.core, pytest.mark.stores]


def test_redis_answers_as_the_contract_says(redis: RedisServer) -> None:
    redis_commands.play(redis.url).assert_none()
