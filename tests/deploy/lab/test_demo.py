"""Progress output and live traffic of the demo."""

from itertools import islice

from deploy.lab.demo import LIVE_SHAPES, live, progress
from deploy.lab.lab import REGIONS
from deploy.lab.progress import TransferProgress


def test_progress_names_each_region_with_its_share():
    stretches = {
        ("west", "flights"): TransferProgress(expected=1000, arrived=500),
        ("west", "planes"): TransferProgress(expected=1000, arrived=1000),
        ("east", "flights"): TransferProgress(expected=2000, arrived=0),
    }
    assert " ".join(progress(stretches, 12.34, 5678.9).split()) == (
        "12.3 s into west 1,500 of 2,000 ( 75%) into east 0 of 2,000 ( 0%) 5,679/s"
    )


def test_every_region_has_live_traffic_of_its_own():
    assert set(LIVE_SHAPES) == set(REGIONS)
    west, east = (
        {(r.key, r.value, tuple(r.headers or ())) for r in islice(live(name), 50)}
        for name in REGIONS
    )
    assert not west & east
