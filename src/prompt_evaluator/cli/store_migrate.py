"""`prompt-evaluator store migrate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.store_migrate import migrate_store
from prompt_evaluator.cli.output import print_json, print_lines
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import clean
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.model.upkeep import Migration


@click.command("migrate")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@settings_options
def migrate_command(*, as_json: bool, config_path: Path | None) -> None:
    """Bring a store that an earlier version made to the schema of this version.

    A file is also migrated when a command opens it; a database on a server only by this command, because others who
    share it need this version or a newer one afterwards. Refused while runs are in progress. An up-to-date store is
    left as it is; an empty database becomes a store.
    """
    migration = migrate_store(read_settings(config_path).store)
    if as_json:
        print_json(migration)
    else:
        print_lines(_lines(migration))


def _lines(migration: Migration) -> Iterator[str]:
    where = clean(migration.store)
    if not migration.is_needed:
        yield f"{where} is up to date: schema revision {migration.after}."
        return
    if migration.before is None:
        yield f"{where} was empty, and is a store now: schema revision {migration.after}."
        return
    yield f"Migrated {where} from schema revision {migration.before} to {migration.after}."
    yield from (f"  {step}" for step in migration.steps)
    if migration.filled_runs:
        yield f"Computed the results of {many(migration.filled_runs, 'run')} from their answers and judgements."
    for run_id in migration.unreadable_runs:
        yield f"Run {clean(run_id)} cannot be read, and was left as it is."
    if "://" in migration.store:
        yield "Restart servers and workers that use it. Versions that need an older schema are refused from now on."
