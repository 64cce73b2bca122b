"""Site: clusters in memory, and the sync of topics of a driver that mirrors between them."""

from types import SimpleNamespace

from replicator.config.settings import TopicSettings
from replicator.config.topology import Route
from replicator.mirror.topics.topic_sync import Ends, TopicSync
from replicator.mirror.topics.written_log import WrittenLog
from replicator.notices.conditions import Conditions
from tests.replicator.mirror.topics.played_cluster import PlayedCluster

ROUTES = {source: Route(source, "north") for source in ("east", "west")}


class Site:
    """Clusters of two sources and a target, and the driver's sync."""

    def __init__(self, *sources: PlayedCluster, target: PlayedCluster | None = None) -> None:
        self.sources = dict(zip(sorted(ROUTES, reverse=True), sources, strict=False))
        self.target = target or PlayedCluster("target")
        self.written = WrittenLog()
        self.mirrored = True
        self.settings = TopicSettings()
        self.restart()

    def restart(self) -> None:
        """Starts the driver again."""
        routes = tuple(ROUTES[name] for name in sorted(self.sources))
        ends = Ends(self.target, self.sources, routes, self.written)
        self.conditions = Conditions("driver")
        appliance = SimpleNamespace(topics=self.settings)
        self.sync = TopicSync(appliance, "north", self.conditions, ends)

    def round(self, **needs: int) -> None:
        """Plays a round as the driver does; carriers have mirrored all, unless told otherwise.

        Args:
            needs: by topic, the limit of a batch that a record needs.
        """
        self.sync.round(needs)
        ends = {
            route: {place: self.sources[route.source].ends.get(place, 0) for place in places}
            for route, places in self.sync.awaited().items()
        }
        if self.mirrored and self.sync.advance(ends):
            self.sync.round(needs)


def site(**own: str) -> tuple[Site, PlayedCluster, PlayedCluster]:
    """Returns a site with one source whose topic was mirrored once; the source; and the target."""
    source = PlayedCluster("source")
    source.make(**own)
    made = Site(source)
    made.round()
    return made, source, made.target


def two_sources(**west: str) -> tuple[Site, PlayedCluster, PlayedCluster, PlayedCluster]:
    """Returns a site whose eastern source is silent from the start; west; east; and the target."""
    sources = PlayedCluster("west"), PlayedCluster("east")
    sources[0].make(**west)
    sources[1].make()
    sources[1].is_silent = True
    made = Site(*sources)
    made.settings = TopicSettings(compact_many_sources=("orders",))
    made.restart()
    made.round()
    return made, *sources, made.target
