"""Operator of the lab: runs `sluice` commands and reads their answers."""

import json
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.lab.daemons import SLUICE

PATIENCE_SECONDS = 180.0
WAIT_SECONDS = 120
"""Time that a switchover waits for records on their way; a busy machine needs it."""


class Refused(Exception):
    """A command ended with an unexpected exit code. The message has its output."""


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    text: str
    """Standard output, for programs."""
    words: str
    """Standard error, for people."""

    def json(self) -> Any:
        return json.loads(self.text)


class Operator:
    """Operator with one configuration."""

    def __init__(self, configuration: Path) -> None:
        self._configuration = configuration

    def ask(self, *arguments: str, codes: Iterable[int] = (0,)) -> Answer:
        """Runs `sluice ...` and returns its answer. Raises Refused unless it ends with one of the
        codes."""
        asked = subprocess.run(
            [str(SLUICE), *arguments, "--config", str(self._configuration)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        answer = Answer(asked.returncode, asked.stdout, asked.stderr)
        if answer.code not in codes:
            said = f"{answer.words}\n{answer.text}".strip()
            raise Refused(f"sluice {' '.join(arguments)}: exit code {answer.code}\n{said}")
        return answer

    def plan(
        self,
        source: str,
        target: str,
        groups: Iterable[str],
        *options: str,
        verb: str = "failover",
        codes: Iterable[int] = (0,),
    ) -> dict[str, Any]:
        """Saves a plan, and returns it as `-o json` shows it."""
        named = [part for group in groups for part in ("--group", group)]
        where = ("--from", source, "--to", target)
        wait = ("--wait-seconds", str(WAIT_SECONDS)) if verb == "switchover" else ()
        plan: dict[str, Any] = self.ask(
            *(verb, "plan", *where, *named, "--reason", "drill", "-o", "json", *wait, *options),
            codes=codes,
        ).json()
        return plan

    def apply(
        self,
        plan: dict[str, Any],
        *options: str,
        verb: str = "failover",
        codes: Iterable[int] = (0,),
    ) -> Answer:
        confirm = f"{plan['source']}:{plan['target']}"
        return self.ask(
            *(verb, "apply", plan["id"], "--confirm", confirm, "-o", "json", *options), codes=codes
        )

    def verify(self, plan: dict[str, Any], *, codes: Iterable[int] = (0,)) -> Answer:
        return self.ask("failover", "verify", plan["id"], "-o", "json", codes=codes)

    def move(
        self, source: str, target: str, groups: Iterable[str], *, verb: str = "failover"
    ) -> dict[str, Any]:
        """Plans until nothing blocks the plan, then applies and verifies it. Returns the plan.

        Raises Refused.
        """
        names = list(groups)
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        plan = self.plan(source, target, names, verb=verb, codes=(0, 4))
        while blocked(plan):
            if time.monotonic() > give_up_at:
                raise Refused(f"it stays blocked: {blocked(plan)}")
            time.sleep(1.0)
            plan = self.plan(source, target, names, verb=verb, codes=(0, 4))
        self.apply(plan, verb=verb)
        self.verify(plan)
        return plan


def blocked(plan: Mapping[str, Any]) -> list[str]:
    """Returns the texts of the checks that block a plan."""
    return [check["text"] for check in plan["checks"] if check["level"] == "BLOCK"]
