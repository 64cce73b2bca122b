"""States as cells: the worst first."""

from tui.facts.health import Health
from tui.pages.states import TONES, is_fault, state_cell


def test_the_worst_state_sorts_first_and_every_state_has_a_tone():
    assert [state_cell(state).sort for state in Health] == list(range(len(Health)))
    assert set(TONES) == set(Health)


def test_all_but_ok_is_a_fault():
    assert [state for state in Health if not is_fault(state)] == [Health.OK]
