"""A short campaign of compound faults over a feed; `make soak` runs the long one
(bench/feed_campaign.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.feed_campaign import feed_campaign, rounds_of


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_faults_of_servers_and_loaders_at_once_lose_and_repeat_no_row(
    needs_clickhouse: None, tmp_path: Path
) -> None:
    with feed_campaign(tmp_path) as (campaign, load):
        outcome = campaign.run(rounds_of(1, 12), load, lambda *_: None)
    assert outcome.is_right, outcome
