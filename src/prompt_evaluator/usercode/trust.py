"""Files that are found instead of named: they are used only where nobody else can have written them.

A configuration can run programs, and so can a dataset with metrics of its own; `.env` decides where keys are sent. Who
works below a folder that others may write to would use what they leave there.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from prompt_evaluator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

TRUST_VARIABLE = "PROMPT_EVALUATOR_TRUST"
"""Names folders in which, and below which, everything is used as it is."""
_MOST_LINKS = 40
"""As many as the system follows."""


def check_found(path: Path, what: str, *, instead: str, environment: Mapping[str, str] = os.environ) -> None:
    """Refuse a file that belongs to somebody else than the user and root, or that others may write or replace.

    Args:
        path: Absolute. A link is looked at as well as what it leads to, and so is the folder of each.
        what: Such as `configuration`.
        instead: How such a file can be named on purpose: the start of a sentence, without its end.
        environment: Where trusted folders are looked up, and who has called `sudo`.

    Raises:
        InputError: Says whose it is or who may write it, and what to do.
    """
    if why := why_not_ours(path, environment):
        folder = path.parent
        advice = f"{instead}, or trust all that is in {folder}: {TRUST_VARIABLE}={quote(str(folder))}."
        raise InputError(f"The {what} was found, not named, and {why}, so it is not used", path=path, advice=advice)


def why_not_ours(path: Path, environment: Mapping[str, str] = os.environ) -> str | None:
    """Why others may have written a file; None where they cannot, and where files have no owners, as on Windows."""
    if not hasattr(os, "geteuid"):
        return None
    trusted, users = _trusted_folders(environment), _users(environment)
    try:
        for place in _links(path):
            folder = Path(os.path.realpath(place.parent))
            if _is_in(folder, trusted):
                continue
            if why := _why_not_file(place, users) or _why_not_folder(folder, users):
                return why
    except OSError:  # what cannot be looked at cannot be read either, and whoever tries says why
        return None
    return None


def why_not_our_folder(folder: Path, environment: Mapping[str, str] = os.environ) -> str | None:
    """Why others may add files to a folder; that they cannot replace those of others does not help here."""
    if not hasattr(os, "geteuid"):
        return None
    real, users = Path(os.path.realpath(folder)), _users(environment)
    if _is_in(real, _trusted_folders(environment)):
        return None
    found = real.stat()
    return _owner(found, f"the folder {real}", users) or _writers(found, f"the folder {real}")


def _links(path: Path) -> Iterator[Path]:
    """The path, and what it leads to from link to link."""
    for _ in range(_MOST_LINKS):
        yield path
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()


def _why_not_file(path: Path, users: set[int]) -> str | None:
    found = path.lstat()
    is_link = stat.S_ISLNK(found.st_mode)  # its mode says nothing: whoever may write the folder may write it
    name = f"the link {path}" if is_link else "it"
    return _owner(found, name, users) or (None if is_link else _writers(found, name))


def _why_not_folder(folder: Path, users: set[int]) -> str | None:
    found = folder.stat()
    name = f"the folder {folder}"
    return _owner(found, name, users) or (None if found.st_mode & stat.S_ISVTX else _writers(found, name))


def _owner(found: os.stat_result, name: str, users: set[int]) -> str | None:
    if found.st_uid in users:
        return None
    return f"{name} belongs to {_user_name(found.st_uid)}, who is neither you nor root"


def _writers(found: os.stat_result, name: str) -> str | None:
    mode = f"mode {stat.S_IMODE(found.st_mode):o}, which `chmod go-w` changes"
    if found.st_mode & stat.S_IWOTH:
        return f"everybody may write {name} ({mode})"
    if found.st_mode & stat.S_IWGRP and not _is_own_group(found.st_gid, found.st_uid):
        return f"the group {_group_name(found.st_gid)} may write {name} ({mode})"
    return None


def _users(environment: Mapping[str, str]) -> set[int]:
    """The user and root; under `sudo` also whoever called it."""
    user = os.geteuid()
    caller = environment.get("SUDO_UID", "")
    return {user, 0, *([int(caller)] if user == 0 and caller.isascii() and caller.isdigit() else ())}


def _is_own_group(group: int, owner: int) -> bool:
    """Whether it is the owner's own group, of the same name and without other members.

    Many systems give each user such a group, and let it write each new file.
    """
    import grp  # noqa: PLC0415 - not on Windows
    import pwd  # noqa: PLC0415

    try:
        found = grp.getgrgid(group)
    except KeyError:
        return group == owner  # as in containers that are started with `--user 1000:1000`
    try:
        user = pwd.getpwuid(owner)
    except KeyError:
        return False
    return user.pw_gid == group and found.gr_name == user.pw_name and {*found.gr_mem} <= {user.pw_name}


def _user_name(user: int) -> str:
    import pwd  # noqa: PLC0415 - not on Windows

    try:
        return f"the user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"the user {user}"


def _group_name(group: int) -> str:
    import grp  # noqa: PLC0415 - not on Windows

    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)


def _trusted_folders(environment: Mapping[str, str]) -> list[Path]:
    texts = environment.get(TRUST_VARIABLE, "").split(os.pathsep)
    return [Path(os.path.realpath(Path(text).expanduser())) for text in map(str.strip, texts) if text]


def _is_in(folder: Path, trusted: Iterable[Path]) -> bool:
    return any(folder.is_relative_to(each) for each in trusted)
