"""Rivals of the object cases: Spark and Flink of the versions that are compared.

python -m bench.rivals      installs what is missing; some 1.5 GB
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.ground import say
from bench.side_by_side import Impossible
from deploy.lab.kafka import CHECKOUT

DIRECTORY = CHECKOUT / ".lab" / "rivals"
SPARK, FLINK = DIRECTORY / "spark", DIRECTORY / "flink"
SPARK_JARS, FLINK_JARS = DIRECTORY / "spark-jars", DIRECTORY / "flink-jars"
FLINK_REGISTRY_JARS = DIRECTORY / "flink-registry-jars"
PACKAGES = {
    SPARK: ("pyspark==4.0.0", "py4j==0.10.9.9"),
    FLINK: ("apache-flink-libraries==2.0.0",),
}
"""Python packages by folder. That of Flink has its jars, and no Python."""
POMS = {
    SPARK_JARS: "spark-sink.xml",
    FLINK_JARS: "flink-sink.xml",
    FLINK_REGISTRY_JARS: "flink-registry.xml",
}
"""Jars by folder."""


def main() -> None:
    """Installs what is missing."""
    for folder, packages in PACKAGES.items():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-deps"]
        _install(folder, [*pip, "--disable-pip-version-check", *packages, "--target"])
    for folder, pom in POMS.items():
        maven = ["mvn", "--batch-mode", "--quiet", f"--file={CHECKOUT / 'bench' / pom}"]
        maven += [f"-Dmaven.repo.local={CHECKOUT / '.lab' / 'm2'}", "-DincludeScope=runtime"]
        _install(folder, [*maven, "dependency:copy-dependencies"], "-DoutputDirectory=")


def _install(folder: Path, command: list[str], option: str = "") -> None:
    """Fills a folder, if it is not there, by a command that gets its name as the last argument."""
    if folder.exists():
        return
    say(f"installing {folder.name}")
    # One that is filled in part would be taken for whole.
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    subprocess.run([*command, f"{option}{part}"], check=True)
    part.rename(folder)


def jars(folder: Path, *names: str) -> list[str]:
    """Returns the jars of a folder whose names begin so. Raises Impossible if one is missing."""
    found = sorted(folder.glob("*.jar"))
    chosen = [os.fspath(each) for each in found if each.name.startswith(names)]
    if not chosen:
        raise Impossible(f"{folder} is not there: run `python -m bench.rivals`")
    return chosen


if __name__ == "__main__":
    main()
