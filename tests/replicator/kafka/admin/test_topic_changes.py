"""Changes of topics, in requests that a controller takes."""

from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.admin.topic_changes import Alter, Create, requests


@given(st.lists(st.integers(1, 9000), max_size=30))
def test_requests_are_as_small_as_a_controller_takes(sizes: list[int]) -> None:
    actions = [Create(f"t{n:02}", size, (), -1) for n, size in enumerate(sizes)]
    actions += [Alter(f"t{n:02}", (("retention.ms", "1"),)) for n in range(len(sizes))]
    made = list(requests(actions))
    assert sorted(map(str, (it for request in made for it in request))) == sorted(map(str, actions))
    for request in made:
        assert len({type(action) for action in request}) == 1
        records = sum(it.partitions + 1 for it in request if isinstance(it, Create))
        assert len(request) == 1 or records <= 5000
