"""A stopped process goes on where it stood, as after SIGCONT; each of its turns can be struck."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.world.process import Process
from tests.world.virtual_loop import VirtualLoop, run


def test_timers_that_are_cancelled_after_a_stop_do_not_fire() -> None:
    fired: list[str] = []

    async def work() -> None:
        loop = asyncio.get_running_loop()
        second = loop.call_later(2.0, fired.append, "second")
        loop.call_later(1.0, second.cancel)
        loop.call_later(3.0, fired.append, "third")
        await asyncio.sleep(4.0)

    async def main(loop: VirtualLoop) -> None:
        process = Process("stopped").start(work())
        await asyncio.sleep(0.5)
        process.stop()
        await asyncio.sleep(10.0)
        assert not fired
        process.resume()
        await asyncio.sleep(0.1)
        assert process.has_ended

    run(main)
    assert fired == ["third"]


async def steps(done: list[int]) -> None:
    for number in range(10):
        done.append(number)
        await asyncio.sleep(0.0)


def struck(turns: int, act: Callable[[Process], object]) -> tuple[list[int], Process]:
    """Returns the steps that a process has taken within a second, struck after some turns."""
    done: list[int] = []
    process = Process("struck")

    async def main(loop: VirtualLoop) -> None:
        process.start(steps(done))
        process.strike(turns, lambda: act(process))
        await asyncio.sleep(1.0)

    run(main)
    return done, process


@pytest.mark.parametrize("turns", [0, 1, 9])
def test_a_process_dies_between_any_two_steps_though_no_time_passes(turns: int) -> None:
    done, process = struck(turns, Process.kill)
    assert process.is_dead
    assert done == list(range(turns))


def test_a_process_that_is_stopped_between_two_steps_goes_on_with_the_next_one() -> None:
    def stop(process: Process) -> None:
        process.stop()
        seen.append(process.turns)
        asyncio.get_running_loop().call_later(0.5, process.resume)

    seen: list[int] = []
    done, _ = struck(4, stop)
    assert seen == [4]
    assert done == [*range(10)]


def test_an_error_of_background_work_ends_the_world() -> None:
    async def broken() -> None:
        raise KeyError("nothing of that name")

    async def main(loop: VirtualLoop) -> None:
        loop.in_background(broken())
        await asyncio.sleep(10.0)

    with pytest.raises(KeyError, match="nothing of that name"):
        run(main)


def test_an_error_in_the_turn_in_which_all_ends_is_told_too() -> None:
    async def main(loop: VirtualLoop) -> None:
        loop.fail(KeyError("found last"))

    with pytest.raises(KeyError, match="found last"):
        run(main)
