"""Checks of each plan that a driver posts, by the orders that it has heard.

- A partition that has been adopted, and that nobody has paused, has exactly one carrier, whether
  or not a placement names it.
- A paused partition has none.
"""

from __future__ import annotations

from replicator.spark.posting import Posting
from tests.world.checks.entry_view import EntryView
from tests.world.checks.wrong import Wrong
from tests.world.mirror.driving import DriverRun
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Scene


class PostingChecks:
    """Checks of all drivers. Whatever they find ends the history at that moment."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._ledger = EntryView(scene.mirroring.target, ROUTE, lambda *_: None)
        scene.mirroring.on_post.append(self._posted)

    def _posted(self, run: DriverRun, posting: Posting) -> None:
        if posting.stop:
            return
        carried = [place for load in posting.plan.loads.values() for place in load]
        for place in self._scene.places:
            is_paused, count = run.heard.is_paused(place), carried.count(place)
            is_adopted = place in self._ledger.entries
            if count > 1 or (is_paused and count) or (is_adopted and not is_paused and not count):
                self._scene.loop.fail(
                    Wrong(
                        f"plan {posting.plan.version} of {run.process.name} gives "
                        f"{place.topic}-{place.partition} {count} carriers; "
                        f"paused: {is_paused}, stream {run.heard.stream_of(place.topic)}"
                    )
                )
