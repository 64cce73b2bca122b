"""Told objects for tests of restores."""

from __future__ import annotations

from aggregator.objects.told_object import ToldObject


def told(
    begin: int,
    end: int,
    *,
    partition: int = 0,
    folder: str = "hour=1",
    records: int | None = None,
    first_ms: int = 0,
    last_ms: int = 0,
    **more,
) -> ToldObject:
    """Returns an object of a folder with the offsets begin..end-1."""
    return ToldObject(
        key=more.pop("key", f"topics/t/{folder}/t+{partition}+{begin:010}.zstd.parquet"),
        cluster="east aggregate",
        topic="t",
        partition=partition,
        begin=begin,
        end=end,
        records=end - begin if records is None else records,
        left_out=more.pop("left_out", 0),
        size_bytes=1000,
        crc32c=7,
        first_ms=first_ms,
        last_ms=last_ms,
        schema=more.pop("schema", ""),
        digest="00",
        sealed_at_ms=1,
        told_at_ms=2,
        **more,
    )
