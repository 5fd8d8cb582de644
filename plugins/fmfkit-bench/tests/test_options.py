import click
from click.testing import CliRunner
from fmfkit_bench import options


@click.command("toy")
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--peer", multiple=True)
@click.option("--targets", is_flag=True)
@options.scale(0.1)
@options.rank
@options.threads
def toy(**given):
    click.echo(options.command_line(click.get_current_context(), rank=given["rank"] * 2))


def test_the_command_line_of_a_run_names_files_and_settings_but_no_threads():
    arguments = ["some/folder/a.npz", "b.npz", "--peer", "implicit ALS", "--peer", "x", "--targets", "--threads", "2"]
    line = CliRunner().invoke(toy, arguments, catch_exceptions=False).output.strip()
    assert line == "fmfkit bench toy a.npz b.npz --peer 'implicit ALS' --peer x --targets --scale 0.1 --rank 128"
