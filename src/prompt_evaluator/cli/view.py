"""`prompt-evaluator view`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import ServedSettings, StillStore
from prompt_evaluator.cli.number_option import WholeNumber
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.report import size_in_words
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import clean
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.bounds import CASE_PAGES
from prompt_evaluator.model.wording import many

DEFAULT = Path("site")
_ALL = "all"


class _Cases(WholeNumber):
    """A number of cases, or `all`."""

    name = "N or all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value in (None, _ALL) else super().convert(value, param, ctx)


@click.command("view")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@click.option(
    "--output",
    "-o",
    "out",
    type=click.Path(path_type=Path),
    default=DEFAULT,
    show_default=True,
    metavar="FOLDER",
    help="The folder to write. One that `view` has written before is replaced; any other is left alone.",
)
@click.option(
    "--cases",
    type=_Cases(CASE_PAGES),
    default=_ALL,
    show_default=True,
    metavar="N|all",
    help="How many cases of each run get a page with their answers, those with problems first. 0 leaves all answers "
    "out; the table always has all cases.",
)
@settings_options
def view_command(runs: tuple[str, ...], *, out: Path, cases: int | str, config_path: Path | None) -> None:
    """Write the dashboard's pages about each RUN to a folder that opens from disk or any web host.

    With several runs, the first is the baseline that the others are compared with. The pages filter, sort and step
    through cases as those of `serve` do, and load nothing from elsewhere. A run is an id or its beginning, @last,
    @last~1, or a tag such as tag:branch=main.
    """
    write_bundle = _writer()
    settings = ServedSettings.of(read_settings(config_path), StillStore)
    try:
        written = write_bundle(settings, runs, out, cases=None if cases == _ALL else cases)
    finally:
        settings.opened.close_for_good()
    shown = clean(str(out))
    print_lines(
        (
            f"Wrote {shown} ({many(written.files, 'file')}, {size_in_words(written.size)}).",
            f"Open {clean(str(out / 'index.html'))} in a browser, or copy the folder to any web host.",
        )
    )


def _writer() -> Any:
    try:
        from prompt_evaluator.server.bundle.writing import write_bundle  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"The pages need packages that are not installed ({error.name} is missing). "
            "Install them: pip install 'prompt-evaluator[server]'"
        ) from None
    return write_bundle
