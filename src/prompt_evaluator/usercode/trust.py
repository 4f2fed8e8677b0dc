"""Files that are found rather than named: used only if no other user could have written them.

A configuration can run programs, and so can a dataset with its own metrics and a run that is resumed; `.env` decides
where keys are sent. Working below a folder that others can write to would mean using whatever they put there.
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
"""Folders in which, and below which, all files are trusted."""
_MAX_LINKS = 40
"""The limit of the operating system."""


def check_found(path: Path, what: str, *, instead: str, environment: Mapping[str, str] = os.environ) -> None:
    """Refuse a file that belongs to neither the user nor root, or that others can write or replace.

    Args:
        path: Absolute path. A link, its target and the folder of each are all checked.
        what: What the file is, such as `configuration`.
        instead: How to name such a file explicitly: the start of a sentence.
        environment: Lists trusted folders, and the user who called `sudo`.

    Raises:
        InputError: Says who owns it or who can write it, and what to do.
    """
    if why := why_not_ours(path, environment):
        folder = path.parent
        advice = f"{instead}, or trust everything in {folder}: {TRUST_VARIABLE}={quote(str(folder))}."
        raise InputError(f"The {what} was found, not named, and {why}, so it is not used", path=path, advice=advice)


def why_not_ours(path: Path, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return why others may have written a file. None if they cannot, and on Windows, where owners are not checked."""
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
    except OSError:  # then it cannot be read either, and reading it reports why
        return None
    return None


def why_not_our_folder(folder: Path, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return why others may add files to a folder, or None. The sticky bit does not help against that."""
    if not hasattr(os, "geteuid"):
        return None
    real, users = Path(os.path.realpath(folder)), _users(environment)
    if _is_in(real, _trusted_folders(environment)):
        return None
    found = real.stat()
    return _owner(found, f"the folder {real}", users) or _writers(found, f"the folder {real}")


def _links(path: Path) -> Iterator[Path]:
    """The path, and the target of each link in turn."""
    for _ in range(_MAX_LINKS):
        yield path
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()


def _why_not_file(path: Path, users: set[int]) -> str | None:
    try:
        found = path.lstat()
    except FileNotFoundError:  # then only the folder matters: those who can write to it can create the file
        return None
    is_link = stat.S_ISLNK(found.st_mode)  # a link has no useful mode: the folder's permissions decide
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
    mode = f"mode {stat.S_IMODE(found.st_mode):o}; fix with `chmod go-w`"
    if found.st_mode & stat.S_IWOTH:
        return f"everyone can write to {name} ({mode})"
    if found.st_mode & stat.S_IWGRP and not _is_own_group(found.st_gid, found.st_uid):
        return f"the group {_group_name(found.st_gid)} can write to {name} ({mode})"
    return None


def _users(environment: Mapping[str, str]) -> set[int]:
    """The user and root; under `sudo` also the user who called it."""
    user = os.geteuid()
    caller = environment.get("SUDO_UID", "")
    return {user, 0, *([int(caller)] if user == 0 and caller.isascii() and caller.isdigit() else ())}


def _is_own_group(group: int, owner: int) -> bool:
    """Whether it is the owner's own group: of the same name and without other members.

    Many systems create such a group for every user, and make new files writable for it.
    """
    import grp  # noqa: PLC0415 - not on Windows
    import pwd  # noqa: PLC0415

    try:
        found = grp.getgrgid(group)
    except KeyError:
        return group == owner  # as in containers started with `--user 1000:1000`
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
