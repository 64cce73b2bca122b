"""Options with which Spark's JVM uses the class archive, if it was made (`class_archive.py`)."""

from __future__ import annotations

import sys
from pathlib import Path

import pyspark


def archive_path(prefix: str = sys.prefix) -> Path:
    """Returns the archive's path, within the Python environment (`prefix`) as the jars are."""
    return Path(prefix) / "share" / "sluice" / f"spark-{pyspark.__version__}.jsa"


def archive_options(prefix: str = sys.prefix) -> str:
    """Returns the options for a JVM that uses the archive; empty when there is none."""
    path = archive_path(prefix)
    # An archive that does not fit is ignored silently.
    quiet = "-Xlog:disable -Xlog:all=error:stderr"
    # At another address than its own, Java would write to most pages of the archive: 100 MB for
    # each JVM by itself, instead of pages of the file that all share and the system may drop.
    placed = "-XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0"
    return f"-XX:SharedArchiveFile={path} -Xshare:auto {placed} {quiet}" if path.exists() else ""
