"""docs/failover.md knows every check and every exit code that a plan can end with."""

import re
from pathlib import Path

from tui.exit_codes import ExitCode

CHECKOUT = Path(__file__).parents[1]
PAGE = (CHECKOUT / "docs" / "failover.md").read_text()


def names_in(*path: str) -> set[str]:
    """Every Check(...) of a module is made with its name as the first argument, or by `_about`."""
    text = CHECKOUT.joinpath(*path).read_text()
    named = re.findall(r'(?:Check|_about)\(\s*"([a-z ]+)"', text)
    return {*named, *re.findall(r'^ +name = "([a-z ]+)"', text, re.M)}


def test_every_check_has_a_row_and_every_row_a_check() -> None:
    checks = names_in("replicator", "planning", "checks.py") | names_in("tui", "relocation.py")
    section = PAGE[PAGE.index("## What the checks say") : PAGE.index("BASIS:")]
    rows = set(re.findall(r"^\| ([a-z ]+) \|", section, re.M)) - {"check"}
    assert rows == checks


def test_every_exit_code_of_apply_says_what_to_do() -> None:
    section = PAGE[PAGE.index("## 3.") : PAGE.index("# Details")]
    rows = {int(code) for code in re.findall(r"^\| (\d) \|", section, re.M)}
    assert rows == {code.value for code in ExitCode} - {ExitCode.DONE, ExitCode.FENCED}
