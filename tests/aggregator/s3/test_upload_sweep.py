"""Only uploads that the feed has begun, that no intent names and that are old enough are stale."""

from hypothesis import given
from hypothesis import strategies as st

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import Manifest, TableRange
from aggregator.objects.object_name import ObjectName
from aggregator.s3.object_store import Upload
from aggregator.s3.upload_sweep import Fate, ObjectPlace, judged, places
from replicator.kafka.client.custody import Custody

PREFIX = "lake/topics"
OLD, YOUNG, BEFORE = 10.0, 20.0, 15.0


def key(topic: str = "t", partition: int = 0, begin: int = 0) -> str:
    return ObjectName(
        prefix=PREFIX, topic=topic, encoded_partition="p=0", partition=partition, begin=begin,
        extension="parquet",
    ).key  # fmt: skip


def fate(name: str, begun_at: float = OLD, needed: frozenset[ObjectPlace] = frozenset()) -> Fate:
    upload = Upload(name, "id", begun_at)
    (found,) = judged([upload], PREFIX, places([upload], PREFIX, {"t"}), needed, BEFORE)
    return found.fate


def test_age_and_intents_decide_about_an_upload_of_the_feed():
    assert fate(key()) is Fate.STALE
    assert fate(key(), YOUNG) is Fate.YOUNG
    assert fate(key(begin=7), needed=frozenset({ObjectPlace("t", 0, "p=0", 7)})) is Fate.NEEDED
    assert fate(key(begin=8), needed=frozenset({ObjectPlace("t", 0, "p=0", 7)})) is Fate.STALE


def test_the_format_of_an_object_that_an_intent_names_does_not_matter():
    needed = frozenset({ObjectPlace("t", 0, "p=0", 7)})
    assert fate(key(begin=7).replace(".parquet", ".json.gz"), needed=needed) is Fate.NEEDED


def test_an_object_of_one_schema_is_named_whatever_its_schema():
    sealed = Manifest(7, 9, 2, size_bytes=1, crc32c=0)
    tables = {"p=0#12": sealed, "p=1": TableRange(5, 5)}
    intent = Intent(custody=Custody.HELD, offset=0, reference=0, transactional_id="", tables=tables)
    needed = frozenset(ObjectPlace.named("t", 0, intent))
    assert needed == {ObjectPlace("t", 0, "p=0", 7)}
    assert fate(key(begin=7), needed=needed) is Fate.NEEDED


def test_what_a_trial_leaves_behind_is_the_feeds():
    assert fate(f"{PREFIX}/_sluice_trial") is Fate.STALE
    assert fate(f"{PREFIX}/_sluice_claim.json") is Fate.STALE
    assert fate("other/_sluice_claim.json") is Fate.FOREIGN


def test_topics_that_the_feed_does_not_have_are_foreign():
    assert fate(key(topic="other")) is Fate.FOREIGN


@given(st.text(), st.sampled_from(["", f"{PREFIX}/", f"{PREFIX}/t/", f"{PREFIX}/t/p=0/"]))
def test_names_of_other_shapes_are_never_touched(name, folder):
    found = fate(f"{folder}{name}")
    if found is not Fate.FOREIGN:
        assert "+" in name or name.startswith("_sluice_")


def test_an_upload_of_a_former_log_is_stale_although_the_next_one_seals_the_same_offsets():
    sealed = {"p=0": Manifest(7, 9, 2, size_bytes=1, crc32c=0)}
    intent = Intent(
        custody=Custody.HELD,
        offset=0,
        reference=0,
        transactional_id="",
        tables=sealed,
        incarnation=5,
    )
    needed = frozenset(ObjectPlace.named("t", 0, intent))
    assert fate(key(begin=7), needed=needed) is Fate.STALE
    assert fate(key(begin=7).replace(".parquet", "+5.parquet"), needed=needed) is Fate.NEEDED
