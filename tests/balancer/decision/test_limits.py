import pytest

from balancer.decision.limits import Limits


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"carriers_min": 0}, "carriers_min is 0"),
        ({"carriers_min": 5, "carriers_max": 4}, "carriers_max is 4, below carriers_min, 5"),
        ({"threshold": 0.0}, "threshold is 0"),
        ({"threshold": 1.1}, "threshold is 1.1"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"partitions_max": 0}, "partitions_max is 0"),
        ({"slack": -0.1}, "slack is -0.1"),
        ({"slack": float("nan")}, "slack is nan"),
        ({"slack": float("inf")}, "slack is inf"),
        ({"calm_rounds": -1}, "calm_rounds is -1"),
    ],
)
def test_what_cannot_be_is_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        Limits(**wrong)


def test_the_edges_are_allowed():
    Limits(carriers_min=1, carriers_max=1, threshold=1.0, partitions_max=1, slack=0, calm_rounds=0)
