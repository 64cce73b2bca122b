"""Makes the archive of Spark's classes, once per installation (20 CPU s, 70 MB).

python -m replicator.mirror.driver.class_archive

Runs Spark through the empty first epoch of the driver.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from replicator.mirror.driver.carrier_source import carrier_tasks
from replicator.mirror.driver.start import IMPORTS
from replicator.runtime.logs import log_to_stderr
from replicator.spark.archive_options import archive_path
from replicator.spark.epoch_runner import EpochRunner
from replicator.spark.jvm import Jvm
from replicator.spark.session import Session

EXIT_SECONDS = 300.0


def make(
    path: Path,
    jvm_type: Callable[..., Jvm] = Jvm,
    session_type: Callable[..., Session] = Session,
    runner_type: Callable[..., EpochRunner] = EpochRunner,
) -> Path:
    """Makes the archive anew and returns its path; a JVM that uses the old one keeps it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    dumping = f"-Xlog:disable -XX:ArchiveClassesAtExit={unfinished}"
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        none = folder / "none"
        with jvm_type("local[2,8]", folder, {}, IMPORTS, dumping) as jvm:
            session = session_type(jvm)
            runner = runner_type(
                session.context,
                carrier_tasks(none, none),
                slots=2,
                receipts=None,
            )
            runner.wait_warm()
            runner.stop()
            session.stop(EXIT_SECONDS)
    return unfinished.replace(path)


if __name__ == "__main__":
    log_to_stderr()
    print(make(archive_path()))
