"""The store of the world answers as stores do, through the product's own client."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from crc32c import crc32c

from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore, PutPart, StoreAddress
from tests.world.blocking import in_thread
from tests.world.objects.client import WorldS3
from tests.world.objects.server import (
    COMPLETE,
    PUT,
    Condition,
    ObjectServer,
    Order,
    RequestFate,
    StoreKind,
)
from tests.world.sinks.sink_loop import SinkLoop, run

KEY, FIRST, SECOND = "lake/t/k=v/t+0+0000000000.json", b"first", b"second"


def asked(
    work: Callable[[ObjectStore, ObjectServer], Any],
    kind: StoreKind | None = None,
    orders: tuple[Order, ...] = (),
    seconds: float = 60.0,
) -> tuple[Any, ObjectServer]:
    """Returns the result of some blocking work, and the server as it is some time later."""
    servers = []

    async def main(loop: SinkLoop) -> Any:
        server = ObjectServer(loop, random.Random(1), kind or StoreKind())
        server.orders += orders
        servers.append(server)
        store = ObjectStore(StoreAddress(bucket="b", extra={}), lambda _: WorldS3(server))
        found = await in_thread(work, store, server)
        await asyncio.sleep(seconds)
        return found

    return run(main), servers[0]


def put(store: ObjectStore, data: bytes) -> None:
    store.put(KEY, data, crc32c(data), {})


def begun(store: ObjectStore) -> tuple[str, list[PutPart]]:
    upload_id = store.begin(KEY, {"a": "b"})
    parts = [(1, FIRST), (2, SECOND)]
    return upload_id, [store.put_part(KEY, upload_id, n, it, crc32c(it)) for n, it in parts]


def complete(store: ObjectStore, upload_id: str, parts: list[PutPart]) -> None:
    data = FIRST + SECOND
    store.complete(KEY, upload_id, parts, crc32c(data))


def answer_to(act: Callable[..., Any], *arguments: Any) -> Answer:
    with pytest.raises(StoreProblem) as problem:
        act(*arguments)
    return problem.value.answer


def ordered(operation: str, fate: RequestFate) -> tuple[Order, ...]:
    return (Order((operation,), fate, 1.0, 1e9),)


def test_an_upload_becomes_an_object_when_it_is_complete() -> None:
    def work(store: ObjectStore, _: ObjectServer) -> None:
        upload_id, parts = begun(store)
        assert store.head(KEY) is None
        assert [each.upload_id for each in store.uploads("lake/")] == [upload_id]
        complete(store, upload_id, parts)
        found = store.head(KEY)
        assert found is not None
        assert found[:3] == (11, crc32c(FIRST + SECOND), {"a": "b"})
        assert store.read_crc32c(KEY) == crc32c(FIRST + SECOND)
        assert answer_to(complete, store, upload_id, parts) is Answer.UPLOAD_GONE
        store.abort(KEY, upload_id)

    asked(work)


def test_a_condition_is_refused_where_the_store_does_not_know_it() -> None:
    def work(store: ObjectStore, _: ObjectServer) -> None:
        assert answer_to(put, store, FIRST) is Answer.UNSUPPORTED
        put(store.without_condition(), FIRST)
        complete(store, *begun(store))

    _, server = asked(work, StoreKind(Condition.REFUSED, of_completions=Condition.IGNORED))
    assert server.objects[KEY].data == FIRST + SECOND


@pytest.mark.parametrize("condition", [it for it in Condition if it is not Condition.REFUSED])
def test_a_name_that_is_taken_is_kept_where_the_store_knows_the_condition(
    condition: Condition,
) -> None:
    def work(store: ObjectStore, _: ObjectServer) -> Answer | None:
        put(store, FIRST)
        if condition is Condition.IGNORED:
            put(store, SECOND)
            return None
        return answer_to(put, store, SECOND)

    is_kept = condition is not Condition.IGNORED
    found, server = asked(work, StoreKind(condition))
    assert (found is Answer.TAKEN) is is_kept
    assert server.objects[KEY].data == (FIRST if is_kept else SECOND)


def test_a_content_is_overwritten_only_while_it_is_the_one_that_was_named() -> None:
    def over(store: ObjectStore, etag: str) -> None:
        store.put(KEY, SECOND, crc32c(SECOND), {}, etag)

    def work(store: ObjectStore, _: ObjectServer) -> None:
        assert answer_to(over, store, "none") is Answer.ABSENT
        put(store, FIRST)
        found = store.head(KEY)
        assert found is not None
        assert answer_to(over, store, "another") is Answer.TAKEN
        over(store, found.etag)
        assert answer_to(over, store, found.etag) is Answer.TAKEN

    _, server = asked(work)
    assert server.objects[KEY].data == SECOND


def test_a_late_request_is_carried_out_after_its_client_gave_up() -> None:
    def work(store: ObjectStore, server: ObjectServer) -> int:
        assert answer_to(put, store, FIRST) is Answer.BUSY
        return len(server.objects)

    at_once, server = asked(work, orders=ordered(PUT, RequestFate.LATE))
    assert at_once in (0, 1)
    assert server.objects[KEY].data == FIRST


@pytest.mark.parametrize(
    ("fate", "is_there"),
    [
        (RequestFate.LOSE_ANSWER, True),
        (RequestFate.ERROR_BEHIND, True),
        (RequestFate.ERROR_IN_SUCCESS, False),
    ],
)
def test_an_answer_in_doubt_does_not_tell_whether_the_object_is_there(
    fate: RequestFate, is_there: bool
) -> None:
    def work(store: ObjectStore, _: ObjectServer) -> Answer:
        return answer_to(complete, store, *begun(store))

    found, server = asked(work, orders=ordered(COMPLETE, fate))
    assert found is Answer.BUSY
    assert (KEY in server.objects) is is_there


def test_a_store_that_dies_within_a_completion_has_neither_object_nor_upload() -> None:
    def work(store: ObjectStore, _: ObjectServer) -> None:
        complete(store, *begun(store))
        assert store.head(KEY) is None

    _, server = asked(work, orders=ordered(COMPLETE, RequestFate.DIES_WITHIN))
    assert not server.uploads


def test_a_store_that_shows_objects_late_keeps_their_names_at_once() -> None:
    def work(store: ObjectStore, _: ObjectServer) -> None:
        put(store, FIRST)
        assert store.head(KEY) is None
        assert answer_to(put, store, SECOND) is Answer.TAKEN

    asked(work, StoreKind(shown_seconds=1000.0))
