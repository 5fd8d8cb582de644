"""``python -m fmfkit`` is the command line."""

from fmfkit.cli import main

main(prog_name="fmfkit")
