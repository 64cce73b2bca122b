from replicator import resume
from replicator.groups import resume as present


def test_the_former_path_gives_the_same_consumer():
    assert resume.ResumingConsumer is present.ResumingConsumer
    assert resume.RunsUntold is present.RunsUntold
