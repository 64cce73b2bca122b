"""Description of the machine of a run, without anything that identifies it."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import psutil

from deploy.lab.kafka import LIBS


def described() -> dict[str, str | int | float]:
    """Returns what a reader needs to judge the figures."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": _system(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "java": _java(),
        "kafka": _kafka(),
        "pyspark": version("pyspark"),
    }


def load_average() -> float:
    """Returns the load average of the last minute: other work on the machine when a run begins."""
    return os.getloadavg()[0]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _java() -> str:
    asked = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    return asked.stderr.partition("\n")[0].strip()


def _kafka() -> str:
    for jar in LIBS.glob("kafka-clients-*.jar"):
        return jar.stem.removeprefix("kafka-clients-")
    return "unknown"
