"""Protoc's refusals reach the operator without its log lines."""

from pathlib import Path

import pytest

from replicator.config.schema_folder import TEXT_CHARACTERS_MAX, NotCompiled, descriptor_set


def test_the_reason_has_the_errors_alone(tmp_path: Path) -> None:
    # Without `syntax` protoc logs a warning too.
    (tmp_path / "a.proto").write_text("message a {")
    with pytest.raises(NotCompiled) as refused:
        descriptor_set(tmp_path, ["a.proto"])
    assert str(refused.value).startswith(f"{tmp_path}/a.proto:1:")
    assert "absl" not in str(refused.value) and "syntax" not in str(refused.value)


def test_the_reason_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.proto").write_text('syntax = "proto3";\n' + "message a { x }\n" * 100)
    with pytest.raises(NotCompiled) as refused:
        descriptor_set(tmp_path, ["a.proto"])
    assert len(str(refused.value)) <= TEXT_CHARACTERS_MAX


@pytest.mark.parametrize("name", ["--x.proto", "-osub.proto", "@args.proto"])
def test_a_name_like_an_option_is_that_of_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('syntax = "proto3"; message a {}')
    assert name.encode() in descriptor_set(tmp_path, [name])


def test_a_folder_that_protoc_would_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotCompiled, match="colon"):
        descriptor_set(tmp_path / "a:b", ["a.proto"])
