"""docs/balance.md lists every trigger, alert and metric, and only commands that exist."""

import re
from pathlib import Path

import pytest

from balancer.decision.balance_alerts import AlertName
from balancer.decision.triggers import ANSWERS
from replicator.placement.rounds.metrics import BalanceCollector
from tests.tui.balance_records import status
from tests.typed_command import check_typed

CHECKOUT = Path(__file__).parents[1]
PAGE = (CHECKOUT / "docs" / "balance.md").read_text()
COMMANDS = re.findall(r"^\$? *(?:sluice) (.*?)(?: +# .*)?$", PAGE, re.M)


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_table_of_triggers_is_the_one_that_rounds_go_by() -> None:
    rows = re.findall(
        r"^\| (.+) \| (\w+) \| (?:yes|no) \|", section("What brings partitions to move"), re.M
    )
    assert rows == [(trigger.value, scope.value) for trigger, scope in ANSWERS.items()]


def test_every_alert_says_what_to_do() -> None:
    rows = re.findall(r"^\| ([a-z ]+) \| \S", section("Alerts"), re.M)
    assert rows == ["alert", *(name.value for name in AlertName)]


def test_every_metric_is_on_the_page_and_no_other() -> None:
    exported = {family.name for family in BalanceCollector(lambda: [status()]).collect()}
    assert exported == set(re.findall(r"\bsluice_balance_[a-z_]+\b", section("Metrics")))


def test_the_page_names_commands() -> None:
    assert len(COMMANDS) >= 15


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_one_that_can_be_typed_like_that(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CONFIG", "appliance.toml")
    check_typed(line)
