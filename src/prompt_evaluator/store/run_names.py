"""Finds the run that a name means: an id or its beginning, `@last`, a baseline or a tag."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import func, or_, select

from prompt_evaluator.errors import ConfigurationError, StoreError, UnknownNameError
from prompt_evaluator.hints import nearest, some_of
from prompt_evaluator.model.run import NOT_STARTED
from prompt_evaluator.store.dialects import entry, ordered
from prompt_evaluator.store.result_tables import BASELINES
from prompt_evaluator.store.schema import RUNS
from prompt_evaluator.store.texts import storable

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

TAG = "tag:"
_LAST = re.compile(r"@last(?:~(\d{1,9}))?")
_SHORTEST_PREFIX = 4
_SHOWN = 10
_LOOKED_AT = 1_000
_EVALUATION = (
    RUNS.c.kind == "evaluation",
    RUNS.c.status != "queued",
    or_(RUNS.c.stop_reason.is_(None), RUNS.c.stop_reason != NOT_STARTED),
)
"""Runs that `@last` and tags can mean: started, and not another judgement of a run's answers, which has its tags."""


def find_run(connection: Connection, name: str) -> str:
    """Return the id of the run that a name means.

    Raises:
        ConfigurationError: There is no such run; the message says what there is.
        StoreError: Several ids begin with the name.
    """
    name = storable(name)
    if connection.scalar(select(RUNS.c.run_id).where(RUNS.c.run_id == name)):
        return name
    if name.startswith("@"):
        return _last(connection, name)
    if name.startswith(TAG):
        return _tagged(connection, name.removeprefix(TAG))
    if pinned := connection.scalar(select(BASELINES.c.run_id).where(BASELINES.c.name == name)):
        return str(pinned)
    if found := _id_beginning(connection, name):
        return found
    if "=" in name or name in {word for tag in _tags(connection) for word in tag}:
        return _tagged(connection, name)
    raise unknown_run(connection, name)


def unknown_run(connection: Connection, name: str) -> UnknownNameError:
    newest = connection.scalars(
        select(RUNS.c.run_id).order_by(RUNS.c.started_at.desc(), RUNS.c.run_id.desc()).limit(_LOOKED_AT)
    ).all()
    total = connection.scalar(select(func.count()).select_from(RUNS))
    near = nearest(name, newest, cutoff=0.5) or nearest(name, _other_names(connection))
    return UnknownNameError("run", name, [near] if near else newest[:_SHOWN], total=total)


def _id_beginning(connection: Connection, name: str) -> str | None:
    if len(name) < _SHORTEST_PREFIX:
        return None
    begins = func.substr(RUNS.c.run_id, 1, len(name)) == name
    matches = connection.scalars(select(RUNS.c.run_id).where(begins).order_by(RUNS.c.run_id).limit(_SHOWN)).all()
    if len(matches) > 1:
        several = some_of(matches, total=connection.scalar(select(func.count()).select_from(RUNS).where(begins)))
        raise StoreError(f"{name!r} matches several runs: {several}. Give more characters of the id.")
    return str(matches[0]) if matches else None


def _last(connection: Connection, name: str) -> str:
    match = _LAST.fullmatch(name)
    if match is None:
        raise ConfigurationError(
            f"There is no run {name!r}. Write @last for the newest run, @last~1 for the one before it, and so on."
        )
    if found := _newest(connection, back=int(match[1] or 0)):
        return found
    count = connection.scalar(select(func.count()).select_from(RUNS).where(*_EVALUATION)) or 0
    if not count:
        raise ConfigurationError(f"{name} means no run, because none has been started yet.")
    there = "There is only 1, @last" if count == 1 else f"There are only {count:,}, from @last to @last~{count - 1}"
    raise ConfigurationError(f"{name} goes back further than the first run. {there}.")


def _newest(connection: Connection, *where: ColumnElement[bool], back: int = 0) -> str | None:
    newest = (ordered(connection, RUNS.c.started_at).desc(), RUNS.c.run_id.desc())
    wanted = select(RUNS.c.run_id).where(*_EVALUATION, *where).order_by(*newest)
    return connection.scalar(wanted.offset(back).limit(1))


def _tagged(connection: Connection, tag: str) -> str:
    """Return the newest run with the tag KEY=VALUE, or with a tag that has this key or value."""
    key, equals, value = tag.partition("=")
    tags = _tags(connection)
    if equals:
        where = [_tag(connection, key) == value] if (key, value) in tags else []
    else:
        where = [_tag(connection, name) == tag for name in sorted({name for name, found in tags if found == tag})]
        where += [_tag(connection, tag).is_not(None)] if any(name == tag for name, _ in tags) else []
    if where and (found := _newest(connection, or_(*where))):
        return found
    raise UnknownNameError("run with the tag", tag, {f"{name}={found}" for name, found in tags})


def _tag(connection: Connection, key: str) -> ColumnElement[Any]:
    return entry(connection, RUNS.c.tags, key)


def _tags(connection: Connection) -> set[tuple[str, str]]:
    """Every tag of runs that can be meant, as key and value."""
    written = connection.scalars(select(RUNS.c.tags).where(*_EVALUATION, RUNS.c.tags.is_not(None)).distinct())
    return {tag for text in written for tag in msgspec.json.decode(text, type=dict[str, str]).items()}


def _other_names(connection: Connection) -> list[str]:
    tags = [word for key, value in _tags(connection) for word in (f"{key}={value}", value)]
    return [*connection.scalars(select(BASELINES.c.name)), *tags]
