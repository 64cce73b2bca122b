"""Output of `sluice aggregate sweep`: a row for each upload of the feed."""

from __future__ import annotations

from typing import Any

from aggregator.s3.upload_sweep import Fate, JudgedUpload
from tui.commands.text import instant, table
from tui.facts.counted import counted
from tui.facts.swept_uploads import Sweep

HEADS = ("KEY", "BEGUN", "FATE")


def as_values(sweep: Sweep) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "dry_run": sweep.is_dry,
        "uploads": [
            {
                "key": each.upload.key,
                "upload_id": each.upload.upload_id,
                "begun_at": _begun(each),
                "fate": _fate(each, sweep),
                "reason": each.fate.value,
            }
            for each in sweep.uploads
        ],
    }


def as_text(sweep: Sweep) -> str:
    """Formats a table for people. Uploads of others are only counted."""
    own = [each for each in sweep.uploads if each.fate is not Fate.FOREIGN]
    parts = []
    if own:
        rows = [
            (each.upload.key, _begun(each), f"{_fate(each, sweep)}: {each.fate.value}")
            for each in own
        ]
        parts.append(table(HEADS, rows))
    else:
        parts.append("no upload of the feed is open")
    if foreign := len(sweep.uploads) - len(own):
        parts.append(f"left: {counted(foreign, 'upload')} {Fate.FOREIGN.value}")
    return "\n\n".join(parts)


def _begun(each: JudgedUpload) -> str | None:
    return instant(int(each.upload.begun_at * 1000))


def _fate(each: JudgedUpload, sweep: Sweep) -> str:
    if each.fate is not Fate.STALE:
        return "left"
    return "would be aborted" if sweep.is_dry else "aborted"
