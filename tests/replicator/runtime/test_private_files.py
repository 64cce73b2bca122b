"""Claims about the daemon's files: private whatever the umask, in folders that are private too."""

import os
import stat

import pytest

from replicator.runtime.private_files import FolderShared, private_folder, write_private


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_a_folder_and_the_parents_made_for_it_are_entered_by_their_owner_alone(tmp_path):
    folder = private_folder(tmp_path / "state" / "plans")
    assert [mode(folder), mode(folder.parent)] == [0o700, 0o700]


@pytest.mark.usefixtures("umask")
def test_a_file_is_read_by_its_owner_alone_also_where_an_older_one_was_not(tmp_path):
    path = tmp_path / "posting.json"
    path.write_text("old")
    path.chmod(0o666)
    write_private(path, b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_others_could_only_read_is_closed_to_them(tmp_path):
    folder = tmp_path / "plans"
    folder.mkdir(mode=0o755)
    assert mode(private_folder(folder)) == 0o700


@pytest.mark.parametrize("shared", [0o770, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_may_write_to_is_refused_with_the_mend(tmp_path, shared):
    folder = tmp_path / "plans"
    folder.mkdir()
    folder.chmod(shared)
    with pytest.raises(FolderShared, match=f"chmod go-w {folder}"):
        private_folder(folder)
    assert mode(folder) == shared


def test_a_folder_above_it_that_everybody_may_write_to_is_refused_with_the_mend(tmp_path):
    above = tmp_path / "state"
    above.mkdir()
    above.chmod(0o777)
    with pytest.raises(FolderShared, match=f"chmod go-w {above}"):
        private_folder(above / "plans")


def test_a_folder_below_one_with_the_sticky_bit_is_nobody_elses(tmp_path):
    above = tmp_path / "tmp"
    above.mkdir()
    above.chmod(0o1777)
    assert mode(private_folder(above / "plans")) == 0o700


def test_a_link_that_somebody_left_in_the_place_of_a_file_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    link = tmp_path / f".posting.json.{os.getpid()}.new"
    link.symlink_to(victim)
    write_private(tmp_path / "posting.json", b"new")
    assert victim.read_text() == "mine"
    assert not (tmp_path / "posting.json").is_symlink()


def test_a_file_that_cannot_be_written_leaves_nothing_beside_it(tmp_path):
    (tmp_path / "posting.json").mkdir()
    with pytest.raises(OSError, match="posting"):
        write_private(tmp_path / "posting.json", b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["posting.json"]
