"""Files that are found rather than named: used only if they belong to the user, as in git.

A configuration can run programs, and so can a dataset with its own metrics and a run that is resumed; `.env` decides
where keys are sent. Working below a folder of somebody else would mean using whatever they put there.
"""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from prompt_evaluator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

TRUST_VARIABLE = "PROMPT_EVALUATOR_TRUST"
"""Folders in which, and below which, all files are trusted."""


def check_found(path: Path, what: str, *, instead: str, environment: Mapping[str, str] = os.environ) -> None:
    """Refuse a file that belongs to neither the user nor root, or is in a folder that does not.

    Args:
        path: Absolute path.
        what: What the file is, such as `configuration`.
        instead: How to name such a file explicitly: the start of a sentence.
        environment: Lists trusted folders, and the user who called `sudo`.

    Raises:
        InputError: Says who owns it, and what to do.
    """
    if why := why_not_ours(path, environment):
        folder = path.parent
        advice = f"{instead}, or trust everything in {folder}: {TRUST_VARIABLE}={quote(str(folder))}."
        raise InputError(f"The {what} was found, not named, and {why}, so it is not used", path=path, advice=advice)


def why_not_ours(path: Path, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return whose a file or its folder is. None if it is the user's, and on Windows, where owners are not checked."""
    if not hasattr(os, "geteuid") or is_trusted(path, environment):
        return None
    real = path.resolve()
    for place in (path, path.parent, real, real.parent):
        try:
            owner = place.lstat().st_uid
        except OSError:  # it does not exist yet, or reading it reports why
            continue
        if owner not in _users(environment):
            return f"{place} belongs to {_user_name(owner)}, who is neither you nor root"
    return None


def is_trusted(path: Path, environment: Mapping[str, str] = os.environ) -> bool:
    texts = environment.get(TRUST_VARIABLE, "").split(os.pathsep)
    folders = [Path(text.strip()).expanduser().resolve() for text in texts if text.strip()]
    return any(path.resolve().is_relative_to(folder) for folder in folders)


def _users(environment: Mapping[str, str]) -> set[int]:
    """The user and root; under `sudo` also the user who called it."""
    user = os.geteuid()
    caller = environment.get("SUDO_UID", "")
    return {user, 0, *([int(caller)] if user == 0 and caller.isascii() and caller.isdigit() else ())}


def _user_name(user: int) -> str:
    import pwd  # noqa: PLC0415 - not on Windows

    try:
        return f"the user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"the user {user}"
