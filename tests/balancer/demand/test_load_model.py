import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.demand.load_model import Factors, LoadModel, NotFitted, Saturated
from balancer.demand.window import Rate

MIB = 1 << 20


def windows(factors, seed=0, noise=0.0, count=40):
    """Returns windows of saturated carriers with these factors and records of many sizes."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        records = int(random.integers(10_000, 2_000_000))
        size = int(random.integers(20, 2_000))
        seconds = factors.per_byte * records * size + factors.per_record * records
        found.append(
            Saturated(
                seconds * float(random.uniform(1 - noise, 1 + noise)), records * size, records
            )
        )
    return found


@given(st.floats(1e-10, 1e-7), st.floats(1e-8, 1e-4))
def test_a_fit_finds_the_factors(per_byte, per_record):
    found = Factors.fitted(windows(Factors(per_byte, per_record)))
    assert found.per_byte == pytest.approx(per_byte, rel=1e-4)
    assert found.per_record == pytest.approx(per_record, rel=1e-4)


def test_with_noise_of_a_tenth_a_fit_is_within_a_tenth():
    for seed in range(5):
        found = Factors.fitted(windows(Factors(4e-9, 1e-6), seed, noise=0.1))
        assert found.per_byte == pytest.approx(4e-9, rel=0.1)
        assert found.per_record == pytest.approx(1e-6, rel=0.1)


@pytest.mark.parametrize("factors", [Factors(5e-9, 0.0), Factors(0.0, 2e-6)])
def test_a_fit_has_no_factor_below_zero(factors):
    found = Factors.fitted(windows(factors, noise=0.05))
    assert found.per_byte == pytest.approx(factors.per_byte, rel=0.1, abs=2e-10)
    assert found.per_record == pytest.approx(factors.per_record, rel=0.1, abs=5e-8)
    assert min(found.per_byte, found.per_record) >= 0


@pytest.mark.parametrize("spread", [0.0, 0.01, 0.05])
def test_records_of_about_one_size_are_not_fitted(spread):
    random = np.random.default_rng(0)
    drawn = [
        Saturated(
            float(random.uniform(0.9, 1.1)),
            int(10**6 * random.uniform(1 - spread, 1 + spread)),
            1000,
        )
        for _ in range(40)
    ]
    with pytest.raises(NotFitted, match="of about one size"):
        Factors.fitted(drawn)


@pytest.mark.parametrize(
    ("window", "why"),
    [
        (Saturated(0.0, 10, 1), "not a possible time"),
        (Saturated(5e-324, 10, 1), "not a possible time"),
        (Saturated(float("nan"), 10, 1), "not a possible time"),
        (Saturated(float("inf"), 10, 1), "not a possible time"),
        (Saturated(1.0, -10, 1), "not a possible traffic"),
        (Saturated(1.0, 10, 0), "not a possible traffic"),
        (Saturated(1.0, 10**400, 1), "not a possible traffic"),
    ],
)
def test_an_implausible_window_is_named(window, why):
    with pytest.raises(NotFitted, match=why):
        Factors.fitted([*windows(Factors(4e-9, 1e-6)), window])


def test_too_few_windows_are_not_fitted():
    with pytest.raises(NotFitted, match="7 windows of saturated carriers; 8 are needed"):
        Factors.fitted(windows(Factors(4e-9, 1e-6), count=7))


def test_records_cost_nothing_with_a_capacity_in_bytes():
    model = LoadModel(Factors.of_capacity(10e6), Factors.of_capacity(10e6))
    assert model.share(Rate(7e6, 1e6)) == pytest.approx(0.7)


@pytest.mark.parametrize("capacity", [0.0, -1.0, 5e-324, float("inf"), float("nan")])
def test_an_invalid_capacity_is_refused(capacity):
    with pytest.raises(ValueError, match="give 1 or more"):
        Factors.of_capacity(capacity)


def test_opened_batches_and_lag_add_to_the_share():
    model = LoadModel(Factors(1e-9, 0.0), Factors(5e-9, 1e-6), drain_seconds=100)
    rate = Rate(1e8, 1e4)
    assert model.share(rate) == pytest.approx(0.1)
    assert model.share(rate, opened_part=1.0) == pytest.approx(0.51)
    assert model.share(rate, opened_part=0.5) == pytest.approx(0.305)
    assert model.share(rate, lag=(10**9, 0)) == pytest.approx(0.11)
    assert model.share(rate, lag=(10**15, 0)) == pytest.approx(0.6)


def test_an_opened_part_above_one_is_refused():
    model = LoadModel(Factors(1e-9, 0.0), Factors(1e-9, 0.0))
    with pytest.raises(ValueError, match="a part is from 0 to 1"):
        model.share(Rate(1, 1), opened_part=1.5)


@pytest.mark.parametrize(
    "factors", [(-1e-9, 1.0), (0.0, 0.0), (float("nan"), 1.0), (float("inf"), 0.0)]
)
def test_invalid_factors_are_refused(factors):
    with pytest.raises(ValueError, match="one factor has to be above 0"):
        Factors(*factors)


@pytest.mark.parametrize("wrong", [{"drain_seconds": 0.0}, {"lag_share_max": -1.0}])
def test_invalid_lag_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LoadModel(Factors(1e-9, 0.0), Factors(1e-9, 0.0), **wrong)


def test_a_negative_lag_is_refused():
    model = LoadModel(Factors(1e-9, 0.0), Factors(1e-9, 0.0))
    with pytest.raises(ValueError, match="a lag of -1 bytes"):
        model.share(Rate(1, 1), lag=(-1, 0))
