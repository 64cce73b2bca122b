"""Contract of quotas: what a broker answers to a client that has used its quota up."""

from __future__ import annotations

from typing import Any

from replicator.kafka.protocol.error_codes import named
from replicator.kafka.protocol.fetch import FetchPosition
from replicator.kafka.protocol.produce import ProduceRequest, outcomes
from tests.world.contracts.dialogue import Dialogue, stamped
from tests.world.contracts.reading import shown

BATCH_BYTES = 10_000
NO_SESSION = (0, -1)


async def play(talk: Dialogue) -> None:
    writer = await talk.open()
    first = stamped(writer, 0, 1, size=BATCH_BYTES)
    talk.step("a batch without a quota", ("NONE", 0, False), await _produced(talk, first))
    begin = [FetchPosition(talk.id, 0, 0, 1 << 20)]
    started = await talk.in_session((0, 0), begin)
    talk.step("a session without a quota", ("NONE", True, 1, False), _shown(started))
    number = started.session_id
    await talk.operator.throttle(BATCH_BYTES)
    try:
        await _produce(talk, [stamped(writer, at, 1, size=BATCH_BYTES) for at in range(1, 50)])
        await _until_throttled(talk, begin)
        nothing = ("NONE", False, 0, True)
        answer = await talk.in_session(NO_SESSION, begin)
        talk.step("a Fetch without a session", nothing, _shown(answer))
        answer = await talk.in_session((0, 0), begin)
        talk.step("a Fetch that begins a session", nothing, _shown(answer))
        answer = await talk.in_session((number, 1), [])
        talk.step("a Fetch of a session", ("NONE", True, 0, True), _shown(answer))
    finally:
        await talk.operator.end_throttle()
    await _until_free(talk, begin)
    answer = await talk.in_session((number, 2), begin)
    talk.step("the session after that", ("NONE", True, 1, False), _shown(answer))


async def _produced(talk: Dialogue, data: bytes) -> tuple[str, int, bool]:
    """Returns error, base offset, and whether the client has to wait."""
    request = ProduceRequest({(talk.topic, talk.id): [(0, data)]}, timeout_ms=5000)
    answer = await talk.client.send(talk.leader, request)
    (outcome,) = outcomes(answer).values()
    return named(outcome.code), outcome.base_offset, answer.throttle_time_ms > 0


async def _produce(talk: Dialogue, batches: list[bytes]) -> None:
    """Produces until a batch is throttled: a broker learns of the quota when it likes."""
    left = iter(enumerate(batches, start=1))
    found: list[tuple[str, int, bool]] = []

    async def is_throttled() -> bool:
        offset, data = next(left)
        found.append(await _produced(talk, data))
        talk.step("a batch is appended", ("NONE", offset), found[-1][:2])
        return found[-1][2]

    await talk.until(is_throttled)


async def _until_throttled(talk: Dialogue, begin: list[FetchPosition]) -> None:
    async def is_throttled() -> bool:
        return bool((await talk.in_session(NO_SESSION, begin)).throttle_time_ms)

    await talk.until(is_throttled)


async def _until_free(talk: Dialogue, begin: list[FetchPosition]) -> None:
    async def is_free() -> bool:
        return not (await talk.in_session(NO_SESSION, begin)).throttle_time_ms

    await talk.until(is_free)


def _shown(answer: Any) -> tuple[str, bool, int, bool]:
    """Returns error, whether there is a session, how many partitions the answer names, and whether
    the client has to wait."""
    return (*shown(answer), answer.throttle_time_ms > 0)
