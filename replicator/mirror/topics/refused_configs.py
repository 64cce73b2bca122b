"""Refused configs: the actions to try instead, after a target has refused some with its answer.

All configs of a topic change in one request, since some are legal only together. The target then
refuses all of them for a single one. Its answer names that one, and often the range of its values:
the nearest legal value is tried, or the others without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from replicator.kafka.admin.topic_changes import Alter, Create
from replicator.mirror.topics.followed_configs import Bounds
from replicator.mirror.topics.topic_configs import AT_CREATION

_BOUND = re.compile(
    r"for configuration (?P<name>[\w.]+): Value must be "
    r"(?P<side>at least|no more than) (?P<bound>-?\d+(\.\d+)?)"
)


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Actions to try instead of a refused one.

    Args:
        refused: True where they leave out a config that is not tried again.
        bounds: values that the target takes, by config.
    """

    actions: tuple[Create | Alter, ...]
    refused: bool
    bounds: Mapping[str, Bounds] = field(default_factory=dict)


def alternatives(action: Create | Alter, answer: str) -> Alternatives:
    """Returns the actions to try next; each has fewer configs, or a nearer value.

    Args:
        answer: text of the target, such as "Invalid value 14 for configuration segment.bytes: Value
            must be at least 1048576" (org.apache.kafka.common.config.ConfigDef.Range).
    """
    configs = dict(action.configs)
    told = _bounds(answer, configs)
    if told:
        nearer = {n: told[n].nearest(n, v) if n in told else v for n, v in configs.items()}
        return Alternatives((_with(action, nearer),), False, told)
    named = {name: value for name, value in configs.items() if _is_named(name, answer)}
    others = {name: value for name, value in configs.items() if name not in named}
    if named:
        tried = [others] if others or isinstance(action, Create) else []
        if isinstance(action, Alter) and len(named) > 1:
            # Such as a lower bound above an upper one: each may be legal by itself.
            tried += [{name: value} for name, value in named.items()]
        return Alternatives(tuple(_with(action, each) for each in tried), len(named) == 1)
    if isinstance(action, Create):
        # The topic must come to be. Its configs follow by an Alter, and are found out there.
        fixed = {name: value for name, value in configs.items() if name in AT_CREATION}
        return Alternatives((_with(action, fixed),) if fixed != configs else (), fixed == configs)
    if len(configs) < 2:
        return Alternatives((), True)
    names = sorted(configs)
    halves = names[: len(names) // 2], names[len(names) // 2 :]
    tried = [{name: configs[name] for name in half} for half in halves]
    return Alternatives(tuple(_with(action, each) for each in tried), False)


def _with(action: Create | Alter, configs: Mapping[str, str]) -> Create | Alter:
    return replace(action, configs=tuple(sorted(configs.items())))


def _is_named(name: str, answer: str) -> bool:
    return bool(re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.]*\w)", answer))


def _bounds(answer: str, configs: Mapping[str, str]) -> dict[str, Bounds]:
    found = _BOUND.search(answer)
    if not found or found["name"] not in configs:
        return {}
    name, bound = found["name"], Decimal(found["bound"])
    told = Bounds(least=bound) if found["side"] == "at least" else Bounds(most=bound)
    return {name: told} if told.nearest(name, configs[name]) != configs[name] else {}
