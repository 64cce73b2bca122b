"""`sluice stream rewind-topic` without a cluster."""

from tui.program import run


def test_a_bad_start_is_wrong_usage_before_the_configuration_is_read(tmp_path, capsys):
    command = ["stream", "rewind-topic", "t", "--route", "west>east", "--to", "yesterday"]
    assert run([*command, "--config", str(tmp_path / "none.toml")]) == 2
    assert "yesterday" in capsys.readouterr().err
