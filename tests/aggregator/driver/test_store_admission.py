"""Claims are renewed for each feed by itself. Trials of stores are tested on real ones."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from aggregator.driver.feed_posting import FeedCluster
from aggregator.driver.store_admission import StoreAdmission
from aggregator.s3.store_trial import Condition, StoreRefusal
from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import ObjectFeed
from replicator.notices.conditions import Conditions

CLUSTER = ClusterName.aggregate("east")


def feed(name: str) -> ObjectFeed:
    return ObjectFeed(name=name, kind="s3", region="east", clusters=(CLUSTER,), bucket=name)


def test_a_feed_whose_prefix_is_anothers_by_now_keeps_no_other_claim_from_being_renewed() -> None:
    renewed: Counter[str] = Counter()
    is_anothers = False

    def checked(store: str) -> None:
        if store == "lake" and is_anothers:
            raise StoreRefusal("another one writes there")

    def renew(store: str, prefix: str, claim: object) -> None:
        checked(store)
        renewed[store] += 1

    def tried(store: str, prefix: str, claim: object, *, is_claiming: bool) -> Condition:
        checked(store)
        return Condition.HONOURED

    async def cluster_id() -> str:
        return "a"

    async def until(condition: Any) -> None:
        for _ in range(1000):
            if condition():
                return
            await asyncio.sleep(0.005)
        raise TimeoutError

    async def run() -> None:
        nonlocal is_anothers
        admission = StoreAdmission(
            [feed("lake"), feed("pond")],
            Conditions("driver"),
            lambda: None,
            0.01,
            lambda it: it.name,  # type: ignore[arg-type,return-value]
            try_store=tried,
            renew=renew,
            renew_seconds=(0.01, 0.01),
        )
        await admission.admit_all(CLUSTER, cluster_id)
        keeping = asyncio.create_task(admission.keep_claims(CLUSTER, cluster_id))
        await until(lambda: renewed["lake"] and renewed["pond"])
        is_anothers = True
        await until(lambda: len(refused(admission)) == 1)
        before = renewed["pond"]
        await until(lambda: renewed["pond"] >= before + 3)
        is_anothers = False
        await until(lambda: not refused(admission))
        keeping.cancel()

    def refused(admission: StoreAdmission) -> list[str]:
        places = [FeedCluster(name, CLUSTER) for name in ("lake", "pond")]
        return [each.feed for each in places if not admission.has(each)]

    asyncio.run(run())
