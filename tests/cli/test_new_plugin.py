"""fmfkit new-plugin: a package to start from."""

import pytest
from command import invoke, run


def test_the_files_are_listed_and_what_to_do_next_is_told(tmp_path):
    output = invoke("new-plugin", "my-loss", "--kind", "loss", "--in", tmp_path)
    root = tmp_path / "fmfkit-my-loss"
    listed, _, advice = output.partition("\n\n")
    assert sorted(listed.splitlines()) == sorted(str(path) for path in root.rglob("*") if path.is_file())
    assert f"now: edit {root}" in advice


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["My_Loss", "--kind", "loss"], 1, "expected lower-case words with hyphens between"),
        (["mine", "--kind", "scheduler", "--native"], 1, "a scheduler cannot be compiled by c here"),
        (["mine", "--kind", "loss", "--native", "--numba"], 1, "expected one of them at most"),
        (["mine", "--kind", "sampler"], 2, "'sampler' is not one of"),
        (["mine"], 2, "Missing option '--kind'"),
    ],
)
def test_senseless_packages_are_refused(tmp_path, arguments, code, message):
    result = run("new-plugin", *arguments, "--in", tmp_path)
    assert result.exit_code == code
    assert message in result.output
    assert not list(tmp_path.iterdir())
