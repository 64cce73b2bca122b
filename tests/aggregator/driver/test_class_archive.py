"""Claims about making the archive of Spark's classes; Spark itself is a stand-in."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from aggregator.driver import class_archive
from replicator.spark.archive_options import archive_path


def launched(master, folder, conf, imports, java_options):
    """Returns a JVM by the path that it writes the archive to as it ends."""
    return nullcontext(Path(java_options.rpartition("=")[2]))


class Session:
    """Session whose JVM writes the archive as it ends, as -XX:ArchiveClassesAtExit does."""

    is_broken = False

    def __init__(self, jvm):
        self.context = None
        self._unfinished = jvm

    def stop(self, seconds):
        assert self._unfinished.with_suffix(".jsa").read_text() == "old"
        if self.is_broken:
            raise OSError("no space left")
        self._unfinished.write_text("new")


class BrokenSession(Session):
    is_broken = True


class Stream:
    def __init__(self, context, tasks, **settings):
        pass

    def wait_warm(self):
        return True

    def stop(self):
        pass


def fold(session, folder):
    assert folder.is_dir()


@pytest.fixture
def archive(tmp_path):
    path = archive_path(str(tmp_path))
    path.parent.mkdir(parents=True)
    path.write_text("old")
    return path


def test_the_old_archive_stays_until_the_new_one_is_whole(archive):
    assert class_archive.make(archive, launched, Session, Stream, fold) == archive
    assert archive.read_text() == "new"
    assert list(archive.parent.iterdir()) == [archive]


def test_an_archive_that_could_not_be_made_leaves_the_old_one(archive):
    with pytest.raises(OSError, match="no space"):
        class_archive.make(archive, launched, BrokenSession, Stream, fold)
    assert archive.read_text() == "old"
