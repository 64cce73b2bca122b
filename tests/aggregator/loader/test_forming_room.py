"""Forming room: blocks wait while the forms of others fill the memory, and each has its turn."""

import asyncio

from aggregator.loader.forming_room import STANDS_SECONDS, FormingRoom, forms_bytes
from aggregator.tables.decoded import LETTER_MEMORY_BYTES, DeadRecord, Decoded
from replicator.runtime.clock import monotonic
from tests.aggregator.formats.slices import slice_of
from tests.world import virtual_loop


async def begun(room: FormingRoom, size: int, ends: asyncio.Event, known: int | None = None):
    """Begins a block, and returns its task and its room once it has any."""
    got = asyncio.get_running_loop().create_future()

    async def work() -> None:
        async with room.taken(size) as taken:
            if known is not None:
                room.tell(taken, known)
            got.set_result(taken)
            await ends.wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    return task, got


async def test_a_block_waits_until_there_is_room_for_its_forms():
    room, ends = FormingRoom(100), asyncio.Event()
    first, _ = await begun(room, 60, ends)
    second, got = await begun(room, 60, asyncio.Event())
    assert not got.done() and room.size_bytes == 60
    ends.set()
    await first
    async with asyncio.timeout(5):
        await got
    assert room.size_bytes == 60
    second.cancel()


async def test_a_block_that_is_too_large_is_formed_alone():
    room = FormingRoom(100)
    large, got = await begun(room, 500, asyncio.Event())
    assert got.done() and not room.has(1, monotonic())
    large.cancel()


async def test_a_block_whose_table_is_gone_leaves_its_room_to_others():
    room = FormingRoom(100)
    stalled, got = await begun(room, 90, asyncio.Event())
    other, other_got = await begun(room, 90, asyncio.Event())
    assert not other_got.done()
    room.tell(got.result(), 0)
    async with asyncio.timeout(5):
        await other_got
    stalled.cancel()
    other.cancel()


async def test_others_go_on_one_by_one_beside_blocks_that_stand_still():
    room, later = FormingRoom(100), monotonic() + 2 * STANDS_SECONDS
    stalled, _ = await begun(room, 90, asyncio.Event())
    assert not room.has(90, monotonic()) and room.has(90, later)
    for _ in range(3):
        async with room.taken(5):  # it fits
            pass
        assert room.has(90, later)
    stalled.cancel()


async def test_no_block_goes_beyond_the_room_once_none_is_stored_any_more():
    room, later = FormingRoom(0), monotonic() + 2 * STANDS_SECONDS
    first, _ = await begun(room, 90, asyncio.Event())
    assert not room.has(90, later)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert room.has(90, later)


async def test_a_block_that_waited_without_its_forms_waits_for_room_again():
    room = FormingRoom(100)
    async with room.taken(90) as refused:
        room.tell(refused, 0)
        other, _ = await begun(room, 90, asyncio.Event())
        again = asyncio.create_task(room.taken_again(refused, 90))
        await asyncio.sleep(0)
        assert room.size_bytes == 90 and not again.done()
        other.cancel()
        async with asyncio.timeout(5):
            await again
        assert room.size_bytes == refused.size_bytes == 90


async def test_the_room_is_jammed_where_blocks_wait_for_some_that_stand_still():
    room, later = FormingRoom(100), monotonic() + 2 * STANDS_SECONDS
    tasks = [(await begun(room, 200, asyncio.Event()))[0]]
    assert not room.is_jammed(later)
    tasks.append((await begun(room, 90, asyncio.Event()))[0])
    assert room.is_jammed(later) and not room.is_jammed(monotonic())
    tasks.pop(0).cancel()
    await asyncio.sleep(0)
    assert not room.is_jammed(later)
    tasks.pop().cancel()


async def test_a_block_that_is_cancelled_leaves_its_room():
    room = FormingRoom(100)
    task, _ = await begun(room, 90, asyncio.Event(), known=95)
    assert room.size_bytes == 95
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert room.size_bytes == 0


def test_a_large_block_has_its_turn_though_the_room_is_never_empty():
    async def passing(_: virtual_loop.VirtualLoop) -> float:
        """Returns the time until a block has room that needs all of it."""
        room, began = FormingRoom(100), monotonic()

        async def small(since: float) -> None:
            await asyncio.sleep(since)
            while True:
                async with room.taken(5):
                    await asyncio.sleep(1.0)

        small_ones = [asyncio.create_task(small(at / 3)) for at in range(3)]
        await asyncio.sleep(1.0)
        try:
            async with asyncio.timeout(600), room.taken(100):
                assert room.size_bytes == 100
                return monotonic() - began
        finally:
            for each in small_ones:
                each.cancel()

    assert virtual_loop.run(passing) < 4 * STANDS_SECONDS


def test_dead_letters_count_with_the_bytes_of_their_records():
    slices = [slice_of([b"x" * 10_000] * 3)]
    dead = Decoded(dead=tuple(DeadRecord(at, "no") for at in range(3)))
    assert forms_bytes(Decoded(), slices) == 0
    assert forms_bytes(dead, slices) > 3 * (30_000 + LETTER_MEMORY_BYTES)
