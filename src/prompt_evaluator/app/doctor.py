"""Checks the environment without making a call or changing anything."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.app.settings import find_rubric, masked, read_settings
from prompt_evaluator.config.settings import NAME_TABLES, SETTINGS
from prompt_evaluator.errors import PromptEvaluatorError
from prompt_evaluator.hints import nearest, some_of
from prompt_evaluator.model.declaration import NO_RUBRIC
from prompt_evaluator.providers.catalogue import BUILT_IN, KINDS, OVER_HTTP, parse_model_name
from prompt_evaluator.providers.keys import Key, endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.store import Store

PACKAGE = "prompt-verdict"
"""What is installed: on the public index the name of the command belongs to somebody else."""
State = Literal["ok", "note", "problem"]
_REQUIREMENT = re.compile(r"""([A-Za-z0-9._-]+)[^;]*(?:;.*?extra\s*==\s*['"]([^'"]+)['"])?""")
_NAMED_RUNS = 5
_NAMED_DAMAGE = 3


class Symptom(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check."""

    topic: str
    state: State
    """A note is worth knowing; a problem must be fixed before runs can work."""
    text: str
    advice: str = ""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all checks."""

    ok: bool
    versions: dict[str, str]
    extras: dict[str, str | None]
    """Maps `extra: package` to the installed version; None if it is not installed."""
    findings: tuple[Symptom, ...]


def diagnose(config_path: Path | None = None) -> Diagnosis:
    """Run all checks, even if some fail. Only a broken configuration leaves nothing else to check."""
    findings: list[Symptom] = []
    try:
        settings = read_settings(config_path)
    except PromptEvaluatorError as error:
        findings.append(_problem("configuration", error))
    else:
        for look in (_configuration, _names, _models, _keys, _ways, _store, _output):
            findings += look(settings)
    versions, extras = _packages()
    return Diagnosis(
        ok=all(finding.state != "problem" for finding in findings),
        versions=versions,
        extras=extras,
        findings=tuple(findings),
    )


def _configuration(settings: Settings) -> Iterator[Symptom]:
    text = f"{settings.path} is valid" if settings.path else "no prompt_evaluator.yaml: using built-in values"
    advice = "" if settings.path else "`prompt-evaluator init` creates one."
    yield Symptom(topic="configuration", state="ok", text=text, advice=advice)
    for path in settings.dotenv_files:
        yield Symptom(topic="configuration", state="ok", text=f"{path} was read")
    known = [setting.variable for setting in SETTINGS.values()]
    for name in settings.unknown_variables():
        near = nearest(name, known, cutoff=0.8)
        advice = f"Did you mean {near}?" if near else "Unset it if it was meant for this command."
        yield Symptom(topic="configuration", state="note", text=f"unknown variable {name}", advice=advice)


def _names(settings: Settings) -> Iterator[Symptom]:
    for table in NAME_TABLES:
        for name, sourced in settings.names[table].items():
            if not Path(sourced.value).is_file():
                text = f"`{name}` names a file that does not exist: {sourced.value}"
                yield Symptom(topic=table, state="note", text=text, advice=f"Correct it in {sourced.origin}.")
    if (name := settings.value("rubric")) == NO_RUBRIC:
        yield Symptom(topic="rubric", state="ok", text="none: metrics only")
        return
    try:
        rubric = find_rubric(settings, name)
    except PromptEvaluatorError as error:
        yield _problem("rubric", error)
    else:
        yield Symptom(topic="rubric", state="ok", text=f"{rubric.name}, {_counted(len(rubric.metrics), 'metric')}")


def _models(settings: Settings) -> Iterator[Symptom]:
    kinds = KINDS.names()
    for name, provider in settings.providers.items():
        if provider.kind not in kinds:
            text = f"`{name}` has an unknown kind {provider.kind!r}"
            near = nearest(provider.kind, kinds)
            advice = f"Did you mean {near!r}?" if near else f"Known kinds: {', '.join(kinds)}."
            yield Symptom(topic="providers", state="problem", text=text, advice=advice)
    known = BUILT_IN | settings.providers
    for setting in ("generator.model", "judge.model"):
        if (model := settings.value(setting)) is None:
            continue
        try:
            parse_model_name(model, known)
        except PromptEvaluatorError as error:
            advice = f"Set by: {settings.origin(setting)}."
            yield Symptom(topic=setting, state="problem", text=str(error), advice=advice)
        else:
            yield Symptom(topic=setting, state="ok", text=f"{model} ({settings.origin(setting)})")


def _keys(settings: Settings) -> Iterator[Symptom]:
    """A missing key is a problem only for a provider that runs would use."""
    used = _used(settings)
    for name, provider in sorted((BUILT_IN | settings.providers).items()):
        key = Key(name, provider, settings.environment)
        if key.source is None:
            continue
        needed = provider.key_required and name in used
        if key.present:
            yield Symptom(topic="keys", state="ok", text=f"{name}: {key.source} is present")
        else:
            state: State = "problem" if needed else "note" if provider.key_required else "ok"
            advice = f"Set {key.source} in the environment or in .env." if needed else ""
            text = f"{name}: {key.source} is {'missing' if provider.key_required else 'not set (optional)'}"
            yield Symptom(topic="keys", state=state, text=text, advice=advice)


def _ways(settings: Settings) -> Iterator[Symptom]:
    """Proxies and certificates of the providers that runs would use."""
    known = BUILT_IN | settings.providers
    for name in sorted(_used(settings)):
        if name not in known or known[name].kind not in OVER_HTTP:
            continue
        from prompt_evaluator.providers.http import Http  # noqa: PLC0415 - imports the network code

        try:
            way = Http().way_to(name, known[name], endpoint(name, known[name]))
        except PromptEvaluatorError as error:
            yield _problem("connection", error)
        else:
            if way.proxy:
                text = f"{name}: calls go through the proxy {way.proxy} ({way.proxy.source})"
                yield Symptom(topic="connection", state="ok", text=text)


def _used(settings: Settings) -> set[str]:
    return {re.split("[/:]", settings.value(name) or "")[0] for name in ("generator.model", "judge.model")}


def _store(settings: Settings) -> Iterator[Symptom]:
    from prompt_evaluator.store import Store  # noqa: PLC0415 - takes 150 ms, not needed if the configuration is broken
    from prompt_evaluator.store.schema import REVISION  # noqa: PLC0415 - slow, as above

    location = settings.store
    shown = masked(location)
    try:
        store = Store.open_unchanged(settings.checked_store(), patience=2)
        if store is None:
            yield Symptom(topic="store", state="ok", text=f"no store in {shown} yet: the first run creates it")
            return
        with closing(store):
            if found := store.damage():
                text = f"{shown} is damaged: {some_of(found, _NAMED_DAMAGE)}"
                advice = "Restore a backup, or rescue what can be read with `sqlite3 FILE .recover`."
                yield Symptom(topic="store", state="problem", text=text, advice=advice)
                return
            records = store.runs()
            text = f"{shown} opens: {store.kind}, schema revision {REVISION}, {_counted(len(records), 'run')}"
            yield Symptom(topic="store", state="ok", text=text)
            yield from _interrupted(store, sorted(run.plan.run_id for run in records if run.status == "running"))
    except PromptEvaluatorError as error:
        yield _problem("store", error)


def _interrupted(store: Store, running: list[str]) -> Iterator[Symptom]:
    owners = {run_id: store.owner(run_id) for run_id in running}
    for run_id, owner in owners.items():
        if owner is not None:
            yield Symptom(topic="store", state="ok", text=f"run {run_id} is in progress: {owner}")
    if left := [run_id for run_id, owner in owners.items() if owner is None]:
        text = f"interrupted: {some_of(left, _NAMED_RUNS)}"
        advice = f"Continue with `prompt-evaluator resume {left[0]}`."
        yield Symptom(topic="store", state="note", text=text, advice=advice)


def _output(settings: Settings) -> Iterator[Symptom]:
    folder: Path = settings.value("output_dir")
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():
        why = f"{existing} is not a folder"
    elif not os.access(existing, os.W_OK | os.X_OK):
        why = f"{existing} is not writable"
    else:
        text = f"{folder} is writable" + ("" if folder.exists() else " (the first run creates it)")
        yield Symptom(topic="output_dir", state="ok", text=text)
        return
    advice = f"Fix it, or set another output_dir. Set by: {settings.origin('output_dir')}."
    yield Symptom(topic="output_dir", state="problem", text=why, advice=advice)


def _packages() -> tuple[dict[str, str], dict[str, str | None]]:
    versions = {
        "prompt-evaluator": importlib.metadata.version(PACKAGE),
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "sqlite": sqlite3.sqlite_version,
    }
    extras: dict[str, str | None] = {}
    for requirement in importlib.metadata.requires(PACKAGE) or ():
        if not (found := _REQUIREMENT.match(requirement)):
            continue
        name, extra = found.groups()
        if extra:
            extras[f"{extra}: {name}"] = _version(name)
        else:
            versions[name] = _version(name) or "missing"
    return versions, extras


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _problem(topic: str, error: PromptEvaluatorError) -> Symptom:
    return Symptom(topic=topic, state="problem", text=str(error))
