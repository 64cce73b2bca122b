"""Viewer: a user whose rights in Kafka and Redis are exactly those of docs/operating.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from redis import Redis

from deploy.lab.credentials import USERNAME
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from tests.live import acls

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
VIEWER, PASSWORD = "viewer", "look, do not touch"
GUARDED = {
    **acls.AUTHORIZER,
    "super.users": f"{acls.AUTHORIZER['super.users']};User:{USERNAME}",
}
"""Properties of the brokers; the lab's own user has all rights."""
ROW = re.compile(r"^\| (regional|aggregate) \| ([^|]+) \| (\w+) \| [^|]+ \|$", re.MULTILINE)
RESOURCES = {
    "all topics": (ResourceType.TOPIC, "*", ResourcePatternType.LITERAL),
    "topics, prefix `sluice.`": (ResourceType.TOPIC, "sluice.", ResourcePatternType.PREFIXED),
    "all groups": (ResourceType.GROUP, "*", ResourcePatternType.LITERAL),
}
OPERATIONS = {
    "Describe": AclOperation.DESCRIBE,
    "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS,
    "Read": AclOperation.READ,
}


@dataclass(frozen=True, slots=True)
class Right:
    """Row of the table: one operation on one resource of the regional or aggregate cluster."""

    cluster: str
    resource: str
    operation: str

    def __str__(self) -> str:
        return f"{self.cluster}, {self.resource}: {self.operation}"

    @property
    def binding(self) -> AclBinding:
        kind, name, pattern = RESOURCES[self.resource]
        return AclBinding(
            kind,
            name,
            pattern,
            f"User:{VIEWER}",
            "*",
            OPERATIONS[self.operation],
            AclPermissionType.ALLOW,
        )


def rights() -> list[Right]:
    """Returns all rows of the table on the page."""
    section = PAGE.partition("### A viewer's rights")[2].partition("\n### ")[0]
    return [Right(*row) for row in ROW.findall(section)]


def redis_rules() -> list[str]:
    """Returns the rules of the viewer's user in Redis, as the page says."""
    (rules,) = re.findall(r"^ACL SETUSER viewer on >PASSWORD (.*)$", PAGE, re.MULTILINE)
    return rules.split()


def grant(cluster: KafkaCluster, granted: Sequence[Right]) -> None:
    """Makes the viewer, with these rights and no others."""
    change = UserScramCredentialUpsertion(
        VIEWER, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), PASSWORD.encode()
    )
    admin = cluster.admin()
    admin.alter_user_scram_credentials([change])[VIEWER].result(30)
    acls.add(cluster, [it.binding for it in granted])


@contextmanager
def without(cluster: KafkaCluster, right: Right) -> Iterator[None]:
    """Takes one right away meanwhile."""
    acls.remove(cluster, [right.binding])
    try:
        yield
    finally:
        acls.add(cluster, [right.binding])


def admit(redis: RedisServer, rules: Sequence[str]) -> None:
    """Makes the viewer's user in Redis."""
    with Redis.from_url(redis.url) as client:
        client.execute_command("ACL", "SETUSER", VIEWER, "reset", "on", f">{PASSWORD}", *rules)


def configuration(
    directory: Path,
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    redis: RedisServer,
    *,
    is_viewer: bool,
) -> Path:
    """Writes the configuration of the viewer, or of the appliance itself.

    Regions west and east share all servers, so that each has copies of the other.
    """
    directory.mkdir(exist_ok=True)
    password = directory / "password"
    password.write_text(PASSWORD + "\n")
    password.chmod(0o600)
    own = {"username": VIEWER, "password_file": str(password)} if is_viewer else {}
    lines = ['routes = ["west>west", "west>east"]']
    for number, (region, host) in enumerate((("west", "127.0.0.1"), ("east", "localhost"))):
        url = redis.url.removesuffix("0") + str(number)
        lines.append(f"[regions.{region}]")
        if is_viewer:
            url = url.replace("redis://", f"redis://{VIEWER}@")
            lines.append(f"redis_password_file = {json.dumps(str(password))}")
        lines.append(f'redis = "{url}"')
        for role, cluster in (("regional", regional), ("aggregate", aggregate)):
            security = (cluster.credentials.security_table() | own).items()
            pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in security)
            bootstrap = cluster.bootstrap.replace("127.0.0.1", host).split(",")
            lines.append(f"{role}.bootstrap = {json.dumps(bootstrap)}")
            lines.append(f"{role}.security = {{ {pairs} }}")
    path = directory / "appliance.toml"
    path.write_text("\n".join(lines) + "\n")
    return path
