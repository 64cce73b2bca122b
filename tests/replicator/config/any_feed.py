"""Sound values of the keys of feeds that have no default."""

from replicator.config.cluster_name import ClusterName

ANY_SHARD = {"replicas": ["clickhouse://host"]}
ANY_FEED = {
    "name": "feed",
    "region": "region",
    "clusters": [ClusterName.regional("region")],
    "shards": [ANY_SHARD],
}
"""Table of a feed into tables."""
ANY_UPSERT_TABLE = {
    "semantic": "upsert",
    "columns": {"id": "UInt64", "name": "String"},
    "primary_key": ["id"],
}
"""Table of a feed that keeps one row per key."""
ANY_OBJECT_FEED = {"kind": "s3", "bucket": "bucket"}
"""Keys of a feed into objects, beside those of any feed."""
