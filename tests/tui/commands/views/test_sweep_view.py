"""Output of `sluice aggregate sweep`."""

from aggregator.s3.object_store import Upload
from aggregator.s3.upload_sweep import Fate, JudgedUpload
from tui.commands.views.sweep_view import as_text, as_values
from tui.facts.swept_uploads import Sweep

UPLOADS = tuple(
    JudgedUpload(Upload(f"topics/t/p=0/t+0+{at:010}.parquet", f"id-{at}", 1.7e9 + at), fate)
    for at, fate in enumerate([Fate.STALE, Fate.YOUNG, Fate.NEEDED, Fate.FOREIGN])
)


def test_own_uploads_are_shown_and_others_are_counted(assert_snapshot):
    assert_snapshot(as_text(Sweep(UPLOADS, is_dry=False)), "sweep")
    assert "would be aborted: nothing needs it" in as_text(Sweep(UPLOADS, is_dry=True))
    assert as_text(Sweep((), is_dry=False)) == "no upload of the feed is open"


def test_values_have_all_uploads():
    found = as_values(Sweep(UPLOADS, is_dry=False))
    assert [each["fate"] for each in found["uploads"]] == ["aborted", "left", "left", "left"]
    assert found["uploads"][0]["begun_at"] == "2023-11-14T22:13:20Z"
    assert as_values(Sweep(UPLOADS, is_dry=True))["uploads"][0]["fate"] == "would be aborted"
