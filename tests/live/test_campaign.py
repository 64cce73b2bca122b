"""A short compound campaign; `make soak` runs the long one (bench/campaign.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.campaign import rounds_of
from tests.live.campaign_ground import PARTITIONS, campaign_ground


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.soak)])
@pytest.mark.timeout(1800)
def test_faults_of_brokers_and_carriers_at_once_lose_and_repeat_nothing(
    tmp_path: Path, rounds: int
) -> None:
    with campaign_ground(tmp_path, min_isr=1) as (campaign, load):
        campaign.run(rounds_of(rounds, rounds, PARTITIONS), load, lambda *_: None)
        for verdict in campaign.verdicts().values():
            verdict.assert_exact()
            assert verdict.sent == load.sent
