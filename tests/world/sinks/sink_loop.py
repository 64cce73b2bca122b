"""Loop of a world with sinks: blocking code runs in threads that wait for virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.world.blocking import in_thread
from tests.world.process import CURRENT, Process
from tests.world.virtual_loop import VirtualLoop, virtual_time


class SinkLoop(VirtualLoop):
    """Virtual loop whose executor is a thread for each call; a killed process loses its threads."""

    waiting = frozenset(
        [
            *("insert", "insert_nothing", "look", "moment", "most_parts", "schemas"),
            *("_in_tables", "has_any", "check_names"),
        ]
    )
    """Names of functions that wait for servers. All others are done at once: threads take long."""

    def __init__(self) -> None:
        super().__init__()
        self.at_end: list[Callable[[], object]] = []
        """Called before all tasks are cancelled: those of a stopped process would never end."""
        self._threads: dict[Process, list[asyncio.Task[Any]]] = {}

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        name = getattr(getattr(func, "func", func), "__name__", "")  # of a partial: its function's
        if name not in self.waiting:
            return super().run_in_executor(executor, func, *args)
        # Who cancels the future leaves the thread alone: it goes on, as a real one does.
        future = self.create_future()
        task = self.create_task(in_thread(func, *args))
        process = CURRENT.get()
        if process is not None:
            self._owned_by(process).append(task)

        def done(task: asyncio.Task[Any]) -> None:
            if process is not None:
                self._threads[process].remove(task)
            if task.cancelled():
                future.cancel()
            elif (error := task.exception()) is not None:
                if not future.done():
                    future.set_exception(error)
            elif not future.done():
                future.set_result(task.result())

        task.add_done_callback(done)
        return future

    def _owned_by(self, process: Process) -> list[asyncio.Task[Any]]:
        if process not in self._threads:
            threads = self._threads[process] = []
            process.at_kill.append(lambda: [task.cancel() for task in list(threads)])
        return self._threads[process]


def run(main: Callable[[Any], Awaitable[Any]], make_loop: Callable[[], SinkLoop] = SinkLoop) -> Any:
    """Returns the result of `main`, run on a loop of its own until it ends."""
    loop = make_loop()
    with virtual_time(loop), asyncio.Runner(loop_factory=lambda: loop) as runner:
        try:
            return runner.run(main(loop))  # type: ignore[arg-type]
        except RuntimeError as error:
            raise loop.bug or error from None
        finally:
            for act in loop.at_end:
                act()
