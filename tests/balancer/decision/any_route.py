"""Random routes, for claims about every placement."""

from hypothesis import strategies as st

from balancer.decision.placement import RouteView
from tests.balancer.decision.routes import at

SHARES = st.dictionaries(st.builds(at, st.integers(0, 19)), st.floats(0, 1.5), min_size=1)


@st.composite
def routes(draw):
    shares = draw(SHARES)
    carriers = draw(st.lists(st.integers(0, 4), min_size=1, unique=True))
    some = st.sampled_from(sorted(shares))
    return RouteView(
        shares,
        carriers,
        draw(st.dictionaries(some, st.integers(0, 4))),
        draw(st.dictionaries(some, st.sampled_from(carriers), max_size=2)),
    )
