"""Rivals of the object cases: Spark and Flink of the versions that are compared.

python -m bench.rivals      installs what is missing; some 1.5 GB
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.ground import say
from bench.object_system import Impossible
from deploy.lab.kafka import CHECKOUT

DIRECTORY = CHECKOUT / ".lab" / "rivals"
SPARK, FLINK = DIRECTORY / "spark", DIRECTORY / "flink"
SPARK_JARS, FLINK_JARS = DIRECTORY / "spark-jars", DIRECTORY / "flink-jars"
PACKAGES = {
    SPARK: ("pyspark==4.0.0", "py4j==0.10.9.9"),
    FLINK: ("apache-flink-libraries==2.0.0",),
}
"""Python packages by folder. That of Flink has its jars, and no Python."""
POMS = {SPARK_JARS: "spark-sink.xml", FLINK_JARS: "flink-sink.xml"}
"""Jars by folder."""


def main() -> None:
    """Installs what is missing."""
    for folder, packages in PACKAGES.items():
        if not folder.exists():
            say(f"installing {', '.join(packages)}")
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-deps"]
            _run([*pip, "--disable-pip-version-check", "--target", folder, *packages])
    for folder, pom in POMS.items():
        if not folder.exists():
            say(f"copying the jars of {pom}")
            maven = ["mvn", "--batch-mode", "--quiet", f"--file={CHECKOUT / 'bench' / pom}"]
            maven += [f"-Dmaven.repo.local={CHECKOUT / '.lab' / 'm2'}"]
            maven += ["dependency:copy-dependencies", "-DincludeScope=runtime"]
            _run([*maven, f"-DoutputDirectory={folder}"])


def _run(command: list[str | Path]) -> None:
    subprocess.run([os.fspath(each) for each in command], check=True)


def jars(folder: Path, *names: str) -> list[str]:
    """Returns the jars of a folder whose names begin so. Raises Impossible if one is missing."""
    found = sorted(folder.glob("*.jar"))
    chosen = [os.fspath(each) for each in found if each.name.startswith(names)]
    if not chosen:
        raise Impossible(f"{folder} is not there: run `python -m bench.rivals`")
    return chosen


if __name__ == "__main__":
    main()
