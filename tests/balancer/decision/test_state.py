import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.freeze import Freeze
from balancer.decision.lag import Lag
from balancer.decision.state import VERSION, RoundState, Wanted
from balancer.topic_partition import TopicPartition
from tests.balancer.decision.routes import at

SOME = st.none() | st.integers(0, 2**50)
NUMBERS = st.dictionaries(
    st.builds(TopicPartition, st.text(max_size=3), st.integers(0, 9)), st.integers(0, 2**50)
)
STATES = st.builds(
    RoundState,
    where=NUMBERS,
    carriers=st.lists(st.integers(0, 9)).map(tuple),
    generation=st.integers(0, 9),
    moved_at_ms=SOME,
    wanted=st.none()
    | st.builds(Wanted, *[st.integers(0, 9)] * 3, st.lists(st.integers(0, 9)).map(tuple)),
    drifting_rounds=st.integers(0, 9),
    lag=st.builds(Lag, NUMBERS, SOME, st.booleans()),
    off_peak_day=SOME,
    freeze=st.builds(Freeze, SOME, SOME, st.booleans()),
)


@given(STATES)
def test_a_state_is_read_as_it_was_written(state):
    assert RoundState.from_json(state.to_json()) == state


@given(STATES)
def test_equal_states_have_the_same_text(state):
    turned = RoundState.from_json(state.to_json())
    turned = RoundState(
        **{name: getattr(turned, name) for name in RoundState.__slots__}
        | {"where": dict(reversed([*turned.where.items()]))}
    )
    assert turned.to_json() == state.to_json()


def test_partitions_of_one_topic_share_its_name():
    text = RoundState({at(n): n % 2 for n in range(100)}, (0, 1)).to_json()
    assert text.count("clicks") == 1


@given(STATES, st.integers(-(2**40), 2**40))
def test_a_shifted_state_has_all_its_times_so_much_later(state, by_ms):
    later = state.shifted(by_ms)
    for before, after in zip(_times(state), _times(later), strict=True):
        assert after == (None if before is None else before + by_ms)
    assert later.shifted(-by_ms) == state


def _times(state):
    lag, freeze = state.lag, state.freeze
    own = (state.moved_at_ms, lag.planned_ms, freeze.since_ms, freeze.vanished_since_ms)
    return [*own, *lag.behind.values(), *lag.seen.values()]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"version":99}', "of version 99"),
        ("[]", "of version None"),
        ("{}", "of version None"),
        (f'{{"version":{VERSION}}}', "wanted"),
        ("nothing", "Expecting value"),
    ],
)
def test_text_of_another_version_is_refused(text, named):
    with pytest.raises(ValueError, match=named):
        RoundState.from_json(text)
