"""Claims about the archive of Spark's classes: it is used if it is there, and never needed."""

import pyspark

from replicator.spark.archive_options import archive_options


def test_without_an_archive_the_jvm_is_asked_for_nothing(tmp_path):
    assert archive_options(str(tmp_path)) == ""


def test_an_archive_is_used_unless_it_does_not_fit(tmp_path):
    archive = tmp_path / "share" / "sluice" / f"spark-{pyspark.__version__}.jsa"
    archive.parent.mkdir(parents=True)
    archive.touch()
    options = archive_options(str(tmp_path))
    assert f"-XX:SharedArchiveFile={archive}" in options
    # auto: an archive that does not fit is ignored. With on, the JVM would refuse to start.
    assert "-Xshare:auto" in options
