"""Runner of one job: runs the command of a job's folder, and records its exit code there.

It is a process of its own between the console and the command, and imports next to nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

from tui.orders.exit_code import ExitCode
from tui.steering.job import SIGNALLED
from tui.steering.job_files import Command, JobFiles


def main() -> None:
    """Leaves the process that started it, then runs the job of the folder that it is given."""
    files, lock = JobFiles(Path(sys.argv[1])), int(sys.argv[2])
    command = files.command()
    if command is None:
        sys.exit(f"no command in {files.folder}")
    # The starter waits for this process only; its child belongs to init from now on.
    if os.fork():
        os._exit(0)
    run(files, command, lock)


def run(files: JobFiles, command: Command, lock: int) -> None:
    """Runs the command to its end and records its exit code. Output is inherited.

    Args:
        lock: file descriptor of the job's lock. The command inherits it: if only the runner is
            killed, the job still counts as running.
    """
    try:
        process = subprocess.Popen(
            [*command.program, *command.words], stdin=subprocess.DEVNULL, pass_fds=(lock,)
        )
    except OSError as error:
        print(f"sluice: cannot be started: {error}", file=sys.stderr, flush=True)
        files.write_end(ExitCode.FAILED)
        return

    def pass_on(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    # The command decides how it ends; the runner stays to record it.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, pass_on)
    files.write_pid(process.pid)
    code = process.wait()
    files.write_end(SIGNALLED - code if code < 0 else code)


if __name__ == "__main__":
    main()
