"""Protoc's refusals reach the operator without its log lines."""

from pathlib import Path

import pytest

from replicator.config.proto_compiler import TEXT_CHARACTERS_MAX, NotCompiled, descriptor_set


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
