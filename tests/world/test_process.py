"""A stopped process goes on where it stood, as after SIGCONT."""

from __future__ import annotations

import asyncio

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
