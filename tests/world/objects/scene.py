"""Scene of a feed into objects: its cluster, its store, its loaders, and its load."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from aggregator.loader.dead_letters import LETTERS_BYTES_MAX
from aggregator.loader.loader_assembly import MAKERS, Makers
from aggregator.loader.object_forming import TAKEN_BYTES
from aggregator.objects.object_progress import NAMED_MAX, UNTOLD_SECONDS
from aggregator.restore.restore import Makers as RestoreMakers
from tests.world.objects import forgetting
from tests.world.objects.forgetting import Forgetting
from tests.world.objects.log_checks import LogChecks
from tests.world.objects.object_feeding import ObjectFeeding
from tests.world.objects.object_load import CITIES, ObjectSender, Settings
from tests.world.objects.poison import Defect
from tests.world.objects.restoring import Restoring
from tests.world.objects.server import Condition, StoreKind
from tests.world.objects.step_checks import StepChecks
from tests.world.sinks.accepting import Accepting
from tests.world.sinks.feed_scene import FeedScene
from tests.world.sinks.letters import KINDS as REFUSING
from tests.world.sinks.letters import Letters
from tests.world.sinks.loaded_feed import Driving
from tests.world.sinks.resting import KINDS as RESTING
from tests.world.sinks.sink_loop import SinkLoop
from tui.orders.upload_sweeping import UploadSweep

KINDS = (
    StoreKind(),
    StoreKind(),
    StoreKind(Condition.LOOKED_AT, forgives=True),
    StoreKind(Condition.IGNORED),
    StoreKind(keeps_crc=False),
    StoreKind(shown_seconds=1.0),
    StoreKind(Condition.IGNORED, keeps_crc=False, forgives=True, shown_seconds=1.0),
)


@dataclass(frozen=True, slots=True)
class Course:
    """Course of a history.

    Args:
        loaders: most loaders of one plan.
        seconds: virtual time with load and faults.
        fault_seconds: mean time between two faults.
        only: names of the faults that are dealt; empty: some of all, by the dice.
        loses: the log loses records as well: partitions may park.
        kind: of the store; None: by the dice.
        by_log: True where the log alone ends objects, False where the clock does too; None: by the
            dice.
        partition_by: folders of the objects; None: by the dice.
        cities: number of cities of the records; None: by the dice.
        named_max: markers that an intent names itself.
        untold_seconds: age of an object of which an intent tells.
        age_seconds: that objects get, and nothing else ends them; None: by the dice.
        late_seconds: most that an object may be older than that, whoever reads it anew meanwhile;
            None: that is not checked.
        file: format of the objects; None: by the dice.
        part_bytes: of uploads; None: about as many as a few records have.
        taken_bytes: most that an object takes of what was read at once.
        letters_bytes: of dead letters, with which an object ends.
        poison_share: of records at which the writers of files fail.
        overwrites: with an operator who has objects overwrite what has their names.
        restores: with restores of what the objects have into another topic; None: there are none.
        sweep: of operators; a mutation has another one.
        forgetting: of operators; a mutation has another one.
        driving: driver that looks for partitions again and again; None: the first look is the only
            one.
        clocks: loaders and drivers have wall clocks of their own.
        letters: records become dead letters of every shape, and their topic does not take all.
        accepting: acceptance of what logs lose, by an operator; None: nobody accepts any.
    """

    topics: tuple[str, ...] = ("orders",)
    partitions: int = 3
    loaders: int = 3
    brokers: int = 3
    seconds: float = 40.0
    fault_seconds: float = 1.5
    only: tuple[str, ...] = ()
    loses: bool = False
    kind: StoreKind | None = None
    by_log: bool | None = None
    partition_by: str | None = None
    cities: int | None = None
    named_max: int = NAMED_MAX
    untold_seconds: float = UNTOLD_SECONDS
    age_seconds: float | None = None
    late_seconds: float | None = None
    file: str | None = None
    part_bytes: int | None = None
    taken_bytes: int = TAKEN_BYTES
    letters_bytes: int = LETTERS_BYTES_MAX
    poison_share: float = 0.0
    overwrites: bool = False
    restores: RestoreMakers | None = None
    sweep: type[UploadSweep] = UploadSweep
    forgetting: type[Forgetting] = Forgetting
    driving: Driving | None = None
    clocks: bool = False
    letters: bool = False
    accepting: Accepting | None = None

    @property
    def wait_seconds(self) -> float:
        """Longest wait of a record that is allowed while there is load; 0: that is not checked."""
        return 0.0 if self.late_seconds is None else self.late_seconds + (self.age_seconds or 0.0)


SWEEPS = Course(
    partitions=2,
    part_bytes=30,
    only=(
        "sweep amid an object",
        "slow store",
        "late completions",
        "strike at a request",
        "kill a loader soon",
    ),
    fault_seconds=0.7,
)
"""Course of operators who sweep uploads of objects that take long to complete."""


OVERWRITES = Course(
    partitions=2,
    part_bytes=30,
    kind=StoreKind(),
    only=(
        "take a name",
        "kill a loader soon",
        "new epoch",
    ),
    fault_seconds=0.7,
    overwrites=True,
)
"""Course of operators who have objects overwrite what somebody wrote under their names."""


KILLS = Course(
    fault_seconds=0.7,
    only=(
        "strike a loader after some turns",
        "strike a loader at its request",
        "strike at a request",
        "lose answers of the store",
    ),
)
"""Course of loaders that are killed and stopped between any two steps."""

FOLDERS = Course(
    partitions=2,
    brokers=1,
    seconds=30.0,
    only=("strike at an intent", "strike at a request", "kill a loader soon", "kill a loader"),
    fault_seconds=1.0,
    by_log=False,
    partition_by="field",
    cities=len(CITIES),
    named_max=4,
)
"""Course of objects in more folders than an intent names: their markers are told elsewhere."""

EPOCHS = Course(
    partitions=2,
    brokers=1,
    seconds=60.0,
    only=("short epoch",),
    fault_seconds=0.1,
    by_log=False,
    cities=5,
    age_seconds=8.0,
    untold_seconds=0.5,
    late_seconds=15.0,
)
"""Course of epochs that are shorter than objects get old."""

CLOCKS = replace(EPOCHS, seconds=90.0, clocks=True, only=("short epoch", "kill a loader soon"))
"""The same of loaders whose clocks differ."""

FULL_OF_LETTERS = Course(
    partitions=2,
    loaders=2,
    brokers=1,
    seconds=30.0,
    by_log=False,
    cities=1,
    only=("new epoch", "kill a loader soon", "strike at an intent"),
    fault_seconds=4.0,
    taken_bytes=300,
    letters_bytes=600,
)
"""Course of objects that end where their dead letters fill their memory, amid what was read."""

POISONED = Course(
    partitions=3,
    loaders=2,
    brokers=1,
    seconds=40.0,
    only=("new epoch", "kill a loader soon"),
    fault_seconds=8.0,
    by_log=False,
    poison_share=0.02,
)
"""Course of records at which the writers of files fail."""

RESTORES = Course(
    partitions=2,
    file="parquet",
    by_log=True,
    only=("kill a broker", "cut connections", "preferred election", "slow store", "kill a loader"),
    restores=RestoreMakers(),
)
"""Course in which restores are killed, and stopped while others begin."""


RESTS = Course(
    partitions=2,
    seconds=400.0,
    fault_seconds=5.0,
    by_log=False,
    only=(*RESTING, "strike at a request"),
    driving=Driving(),
)
"""Course of loaders and drivers that are away for longer than progress is kept."""

LETTERS = Course(
    partitions=2,
    loaders=2,
    seconds=30.0,
    fault_seconds=1.5,
    only=(*REFUSING, "strike at a request"),
    by_log=False,
    file="json_lines",
    age_seconds=2.0,
    letters=True,
)
"""Course of dead letters that their topic refuses, or does not take as a whole."""


FORGETS = replace(FOLDERS, only=(*FOLDERS.only, forgetting.NAME))
"""Course of folders beyond those that an intent names, of which objects are forgotten."""


class ObjectLoop(SinkLoop):
    """Loop of a world with a store."""

    waiting = frozenset(
        [
            "_listed",
            *("head", "put", "read_crc32c", "begin", "put_part", "complete", "abort"),
            *("_uploads_of", "take", "has_any"),
        ]
    )


class Scene(FeedScene[ObjectFeeding]):
    """Scene of one seed."""

    checks: StepChecks | None

    def __init__(
        self, loop: ObjectLoop, seed: int, course: Course, makers: Makers = MAKERS
    ) -> None:
        super().__init__(loop, seed, course, makers)
        drawn = self.dice.choice(KINDS)
        kind = course.kind or drawn
        settings = Settings.drawn(
            random.Random(self.dice.random()), course.by_log, course.partition_by, course.file
        )
        settings = replace(settings, cities=course.cities or settings.cities)
        if course.age_seconds is not None:
            settings = settings.with_age(course.age_seconds)
        self.feeding = ObjectFeeding(
            self.world,
            course.topics,
            course.partitions,
            course.brokers,
            kind,
            settings,
            course.part_bytes,
        )
        self.server = self.feeding.server
        self.feeding.defect = Defect() if course.poison_share else None
        if course.late_seconds is not None or course.taken_bytes < TAKEN_BYTES:
            # An old object ends with what was read of it: by small fetches they would be many.
            self.feeding.cluster.fetch_bytes_max = 1 << 20
        self.senders = [
            ObjectSender(
                self.feeding.cluster,
                place,
                random.Random(self.dice.random()),
                sparse_share=0.1,
                cities=settings.cities,
                poison_share=course.poison_share,
                letters=course.letters,
            )
            for place in self.feeding.places
        ]
        self.checks = None
        if course.clocks:
            self.feeding.clock_dice = random.Random(f"{seed} clocks")
        self.letters = Letters(self.feeding, settings.is_dead) if course.letters else None
        if course.driving:
            self.feeding.drive(course.driving, self.plan_soon)
        self.restoring = Restoring(self) if course.restores else None
        loop.at_end.append(self.feeding.kill_all)
        self.tell(f"{kind}")
        self.tell(f"{settings}")

    async def begin(self) -> None:
        """Adopts the partitions, and begins to check."""
        await self.feeding.begin()
        make_checks = LogChecks if self.course.accepting else StepChecks
        self.checks = make_checks(self.loop, self.feeding)
        if self.letters:
            self.letters.begin()
