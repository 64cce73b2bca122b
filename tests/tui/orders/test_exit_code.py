"""Exit codes: every number has a meaning, in words for people."""

from tui.orders.exit_code import MEANINGS, ExitCode


def test_every_code_has_a_meaning_of_its_own() -> None:
    assert set(MEANINGS) == set(ExitCode)
    assert len(set(MEANINGS.values())) == len(ExitCode)
