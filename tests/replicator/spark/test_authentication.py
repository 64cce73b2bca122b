"""Claims about Spark's shared secret: where it comes from, and that no command line has it."""

import pytest

from replicator.spark.authentication import (
    ENABLED,
    SECRET,
    SECRET_FILE,
    NoSecret,
    split_secret,
)

CLUSTER = "spark://spark.east:7077"


@pytest.mark.parametrize("master", ["local", "local[2,8]", "local[*]", "yarn", "k8s://api:443"])
def test_where_spark_makes_a_secret_by_itself_none_is_given_to_it(master):
    assert split_secret(master, {ENABLED: "true"}) == ({ENABLED: "true"}, {})


def test_a_cluster_of_the_drivers_own_gets_a_new_secret_each_time():
    _, first = split_secret("local-cluster[2,1,1024]", {})
    _, second = split_secret("local-cluster[2,1,1024]", {})
    assert len(first[SECRET]) >= 32
    assert first != second


def test_a_standalone_cluster_without_a_secret_is_refused_with_the_settings_that_mend_it():
    with pytest.raises(NoSecret, match=f"{SECRET_FILE}.*{ENABLED}=false"):
        split_secret(CLUSTER, {ENABLED: "true"})


def test_a_standalone_cluster_without_authentication_needs_the_operators_word():
    assert split_secret(CLUSTER, {ENABLED: "false"}) == ({ENABLED: "false"}, {})


def test_a_secret_is_read_from_its_file_without_the_newline_of_an_editor(tmp_path):
    file = tmp_path / "secret"
    file.write_text("quiet\n")
    assert split_secret(CLUSTER, {SECRET_FILE: str(file)}) == ({}, {SECRET: "quiet"})


def test_a_secret_among_the_settings_is_kept_off_the_command_line():
    shown, kept = split_secret(CLUSTER, {ENABLED: "true", SECRET: "quiet"})
    assert (shown, kept) == ({ENABLED: "true"}, {SECRET: "quiet"})


@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_file_is_no_secret(tmp_path, content):
    file = tmp_path / "secret"
    file.write_text(content)
    with pytest.raises(NoSecret, match="is empty"):
        split_secret(CLUSTER, {SECRET_FILE: str(file)})


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(NoSecret, match=r"secret\.file.*no-such-file"):
        split_secret(CLUSTER, {SECRET_FILE: str(tmp_path / "no-such-file")})
