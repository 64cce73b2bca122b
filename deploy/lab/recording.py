"""Recording of the demo by `sluice record`, to be replayed afterwards in the console."""

from __future__ import annotations

from pathlib import Path

from deploy.lab.daemons import SLUICE
from deploy.lab.kafka import CHECKOUT
from deploy.lab.process import Process

END_SECONDS_MAX = 20.0


class Recording:
    """Recording that is made inside the `with` block, beside the daemons. It ends nothing.

    Args:
        directory: of the lab; the recording is `demo.rec` in it.
        configuration: of the appliance.
    """

    def __init__(self, directory: Path, configuration: Path) -> None:
        self.path = directory / "demo.rec"
        self._configuration = configuration
        self._process: Process | None = None

    def __enter__(self) -> Recording:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def log(self) -> Path:
        return self.path.with_suffix(".log")

    @property
    def replay_command(self) -> str:
        """Command that replays the recording, as typed in the checkout."""
        return f"{_short(SLUICE)} console --replay {_short(self.path)}"

    def start(self) -> None:
        """Begins to record, or goes on with the same file; a changed configuration counts."""
        self.end()
        self._process = Process(
            "sluice record",
            [str(SLUICE), "record", str(self.path), "--config", str(self._configuration)],
            self.log,
        )

    def end(self) -> None:
        """Ends the recorder once its last snapshot is written."""
        process, self._process = self._process, None
        if process is not None:
            process.stop(END_SECONDS_MAX)


def _short(path: Path) -> Path:
    return path.relative_to(CHECKOUT) if path.is_relative_to(CHECKOUT) else path
