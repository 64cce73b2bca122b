"""Spark's shared secret: every connection to one of Spark's ports proves that it knows the secret.

Without a secret, any process that reaches the driver's port or a block manager's has Java objects
of its own deserialized there. On a host with many users that is anybody. Spark makes a secret by
itself under local, YARN and Kubernetes masters; a standalone cluster's secret is the operator's.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from pathlib import Path

ENABLED = "spark.authenticate"
SECRET = "spark.authenticate.secret"
SECRET_FILE = "spark.authenticate.secret.file"
LOCAL_CLUSTER = "local-cluster"
MAKES_ITS_OWN = re.compile(r"local|local\[.*\]|yarn|k8s://.*")


class NoSecret(ValueError):
    """This Spark cluster has a secret of its own, and the daemon was not given it."""


def split_secret(master: str, conf: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the settings that may stand on the JVM's command line, and those that may not.

    Args:
        master: Spark's master URL.
        conf: all settings, the operator's among them.

    Raises:
        NoSecret: the cluster needs a secret and none is given, or its file cannot be read.
    """
    open_to_all = {name: value for name, value in conf.items() if name != SECRET}
    given = {name: value for name, value in conf.items() if name == SECRET}
    if conf.get(ENABLED, "true").lower() != "true" or MAKES_ITS_OWN.fullmatch(master):
        return open_to_all, given
    file = open_to_all.pop(SECRET_FILE, "")
    if given:
        return open_to_all, given
    if file:
        return open_to_all, {SECRET: _read(file)}
    if master.startswith(LOCAL_CLUSTER):
        return open_to_all, {SECRET: secrets.token_hex(32)}
    raise NoSecret(
        f"{master} needs the secret that its hosts share: --conf {SECRET_FILE}=FILE, or "
        f"--conf {ENABLED}=false where the cluster has none (docs/spark.md)"
    )


def _read(file: str) -> str:
    try:
        found = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NoSecret(f"{SECRET_FILE}: {error}") from error
    if not found:
        raise NoSecret(f"{SECRET_FILE}: {file} is empty")
    return found
