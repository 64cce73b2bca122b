"""Findings of `sluice aggregate check` about the stores of feeds into objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from aggregator.loader.object_sink import trial_store
from aggregator.objects.prefix_claim import PrefixClaim, below
from aggregator.s3.store_trial import Condition, StoreRefusal, tried
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.admin.admin import Admin
from tui.facts.feed_findings import Finding
from tui.facts.watch.inquiry import Inquiry, Reply

UNTRIED = "is not claimed yet: `sluice aggregate` claims it, and tries the store's condition then"


def ask_stores(
    inquiry: Inquiry, feeds: Iterable[Feed], admins: Mapping[ClusterName, Admin]
) -> list[Reply[list[Finding]]]:
    """Tries the store of each feed into objects, for each cluster. Nothing is written that was not
    there before; an upload is begun and aborted.

    Args:
        inquiry: takes StoreProblem as a problem of a server.
        admins: of the clusters that the feeds read.
    """
    return [
        inquiry.ask(_place(feed, name), partial(_findings, feed, name, admins[name]))
        for feed in feeds
        if isinstance(feed, ObjectFeed)
        for name in feed.clusters
    ]


def _findings(feed: ObjectFeed, name: ClusterName, admin: Admin) -> list[Finding]:
    """Raises StoreProblem, AdminError."""
    claim, where = PrefixClaim(feed.name, str(name), admin.cluster_id()), _place(feed, name)
    try:
        condition = tried(trial_store(feed), feed.prefix_of(name), claim, is_claiming=False)
    except StoreRefusal as refusal:
        return [Finding(where, f"feed {feed.name} does not start: {refusal}")]
    if condition is Condition.HONOURED:
        return []
    return [Finding(where, condition.value if condition else UNTRIED, is_mistake=False)]


def _place(feed: ObjectFeed, name: ClusterName) -> str:
    return f"{feed.bucket}/{below(feed.prefix_of(name), '')}"
