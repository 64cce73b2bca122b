"""Class archive: Spark's classes in a file that the JVM maps in, which halves a start's CPU time.

`python -m replicator.spark.class_archive` makes the archive, once per installation (half a minute,
170 MB), by running Spark through an empty epoch. Without it everything works, after a slower start.
When the JVM or the jars are not those it was made with, the JVM notices and ignores it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pyspark

from replicator.runtime.logs import log_to_stderr

EXIT_SECONDS = 300.0


def archive_path() -> Path:
    """Returns the archive's path, within the Python environment as the jars are."""
    return Path(sys.prefix) / "share" / "sluice" / f"spark-{pyspark.__version__}.jsa"


def options() -> str:
    """Returns the options for a JVM that uses the archive; empty when there is none."""
    path = archive_path()
    # An archive that does not fit is ignored silently.
    quiet = "-Xlog:disable -Xlog:all=error:stderr"
    return f"-XX:SharedArchiveFile={path} -Xshare:auto {quiet}" if path.exists() else ""


def make() -> Path:
    """Makes the archive anew and returns its path; a JVM that uses the old one keeps it."""
    from replicator.spark.posting import PostingFile
    from replicator.spark.receipts_folder import ReceiptsFolder
    from replicator.spark.session import Session
    from replicator.spark.stream import Stream

    path = archive_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        dumping = f"-Xlog:disable -XX:ArchiveClassesAtExit={unfinished}"
        session = Session("local[2,8]", folder, {}, dumping)
        stream = Stream(
            session.spark,
            appliance=folder / "none",
            posting=PostingFile(folder / "none").path,
            checkpoint=folder / "checkpoint",
            slots=2,
            receipts=ReceiptsFolder(folder, "none"),
        )
        stream.warm.wait()
        stream.stop()
        session.stop(EXIT_SECONDS)
    return unfinished.replace(path)


if __name__ == "__main__":
    log_to_stderr()
    print(make())
