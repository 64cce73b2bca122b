"""Random rounds: views of a route that a balancer may have, with limits and rules."""

from hypothesis import strategies as st

from balancer.decision.placement import Scope
from balancer.decision.round import Orders, RoundState
from balancer.decision.settings import Limits, Rules
from balancer.topic_partition import TopicPartition
from tests.balancer.decision.routes import MINUTE_MS, NOON_MS, seen

PARTITIONS = st.builds(TopicPartition, st.sampled_from(["a", "b", "c"]), st.integers(0, 9))
SHARES = st.dictionaries(PARTITIONS, st.floats(0, 1.3), max_size=25)


@st.composite
def views(draw):
    shares, before = draw(SHARES), draw(SHARES)
    numbers = st.integers(0, 6)
    carriers = tuple(sorted(draw(st.frozensets(numbers, min_size=1))))
    state = RoundState(
        {each: draw(st.sampled_from(carriers)) for each in sorted(before)},
        carriers,
        draw(st.integers(1, 5)),
        moved_at_ms=draw(st.none() | st.just(NOON_MS - MINUTE_MS)),
        drifting_rounds=draw(st.integers(0, 3)),
    )
    some = st.frozensets(PARTITIONS, max_size=20)
    return seen(
        shares,
        state=draw(st.none() | st.just(state)),
        measured=draw(some),
        lag_seconds=draw(st.dictionaries(PARTITIONS, st.floats(0, 99), max_size=4)),
        orders=Orders(
            pins=draw(st.dictionaries(PARTITIONS, numbers, max_size=3)),
            excluded=draw(st.dictionaries(numbers, st.just("a bad disk"), max_size=2)),
            paused=draw(st.booleans()),
            by_hand=draw(st.none() | st.sampled_from(Scope)),
        ),
        slots=draw(st.none() | st.integers(0, 9)),
        silent=draw(st.frozensets(numbers)),
        degraded=draw(st.none() | st.just("no rates")),
        withdrawn=draw(some),
    )


@st.composite
def limits_and_rules(draw):
    carriers_min = draw(st.integers(1, 3))
    limits = Limits(
        carriers_min=carriers_min,
        carriers_max=carriers_min + draw(st.integers(0, 5)),
        partitions_max=draw(st.sampled_from([2, 1000])),
        calm_rounds=draw(st.integers(0, 2)),
    )
    off_peak = draw(st.sampled_from(["", "11:00-13:00"]))
    return limits, Rules(moves_max=draw(st.integers(1, 5)), off_peak=off_peak)
