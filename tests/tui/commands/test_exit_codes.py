"""Exit codes are an interface: the documentation lists those of the code."""

import re
from importlib import import_module
from pathlib import Path

from replicator.config.mistakes import ConfigMistakes, Mistake
from replicator.kafka.admin.admin_error import AdminUnreachable, NotLetIn, Refused
from replicator.runtime.exit_codes import Exit
from tui.commands.exit_codes import EXIT_CODES, MEANINGS, ExitCode, exit_code_help, exit_code_of

PAGE = Path(__file__).parents[3] / "docs" / "exit-codes.md"


def test_every_code_is_documented_under_its_name() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", PAGE.read_text(), flags=re.MULTILINE)
    assert {(int(code), name) for code, name in rows} == {(c.value, c.name) for c in ExitCode}


def test_every_code_has_a_meaning_in_the_help() -> None:
    assert set(MEANINGS) == set(ExitCode)
    assert len(exit_code_help().splitlines()) == len(ExitCode)


def test_every_answer_is_an_error_that_exists() -> None:
    for name in EXIT_CODES:
        module, _, kind = name.rpartition(".")
        assert issubclass(getattr(import_module(module), kind), Exception)


def test_errors_have_the_code_of_their_nearest_kind() -> None:
    assert exit_code_of(ConfigMistakes("x", [Mistake("a", "b")])) is ExitCode.USAGE
    assert exit_code_of(AdminUnreachable("west", "away")) is ExitCode.UNREACHABLE
    assert exit_code_of(NotLetIn("west", "wrong password")) is ExitCode.UNREACHABLE
    assert exit_code_of(Refused("west", "no")) is ExitCode.FAILED
    assert exit_code_of(ValueError("a surprise")) is None


def test_the_daemon_ends_with_the_same_codes() -> None:
    own = {"STOPPED": ExitCode.DONE, "MISCONFIGURED": ExitCode.USAGE}
    for code in Exit:
        assert own.get(code.name, getattr(ExitCode, code.name, None)) == code, code


def test_every_code_has_a_meaning_of_its_own() -> None:
    assert set(MEANINGS) == set(ExitCode)
    assert len(set(MEANINGS.values())) == len(ExitCode)
