"""`prompt-evaluator token`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
from entries import each

from prompt_evaluator.cli.token import token_table
from prompt_evaluator.model.token import Token

if TYPE_CHECKING:
    from workspace import Workspace

TEXT = re.compile(r"pe_([0-9a-f]{8})_[A-Za-z0-9_-]{43}\n")
NOW = "2026-01-31T12:00:00.000Z"


def test_a_new_token_alone_goes_to_standard_output_and_how_to_use_it_to_the_other(offline: Workspace) -> None:
    done = offline.run("token", "create", "nightly build", "--role", "runner")

    found = TEXT.fullmatch(done.out)
    assert found
    said = " ".join(done.err.split())
    assert f"Token {found[1]} of nightly build: runner, valid until " in said
    assert "send it with every request as `Authorization: Bearer TOKEN`" in said
    assert done.out.strip() not in said
    assert "Warning" not in said


def test_a_token_that_never_expires_comes_with_a_warning(offline: Workspace) -> None:
    done = offline.run("token", "create", "anna", "--role", "admin", "--expires", "never")

    assert done.code == 0
    assert "Warning: this token never expires, so it stays valid until you revoke it." in " ".join(done.err.split())


def test_tokens_are_listed_without_their_secrets_and_revoked(offline: Workspace) -> None:
    empty = offline.run("token", "list")
    secret = offline.run("token", "create", "anna", "--role", "viewer").out.strip().rpartition("_")[2]
    offline.run("token", "create", "bert", "--role", "admin", "--expires", "never")
    revoked = offline.run("token", "revoke", "anna")
    listed, found = offline.run("token", "list"), offline.run("token", "list", "--json").json["tokens"]

    assert "There are no tokens. Make one: prompt-evaluator token create NAME --role viewer" in empty.out
    assert revoked.words == f"Revoked token {found[0]['id']} of anna."
    assert re.search(r"anna +viewer +revoked +\d{4}-\d\d-\d\d \d\d:\d\d +never\n", listed.out)
    assert re.search(r"bert +admin +valid +never +never\n", listed.out)
    assert [(token["name"], token["role"], token["state"]) for token in found] == [
        ("anna", "viewer", "revoked"),
        ("bert", "admin", "valid"),
    ]
    assert secret not in listed.out + str(found)


@each(
    ("arguments", "why"),
    [
        (("create", "anna"), "Missing option '--role'"),
        (("create", "anna", "--role", "boss"), "'boss' is not one of"),
        (("create", "anna", "--role", "viewer", "--expires", "soon"), "The expiry 'soon' cannot be read."),
        (("create", "anna", "--role", "viewer", "--expires", "3650d"), "at most 366 days"),
        (("revoke", "anna"), "There is no valid token 'anna'."),
    ],
    ids=["no role", "unknown role", "unreadable", "too long", "unknown"],
)
def test_what_cannot_be_done_is_said_with_exit_code_2(offline: Workspace, arguments: tuple[str, ...], why: str) -> None:
    done = offline.run("token", *arguments)

    assert (done.code, done.out) == (2, "")
    assert why in done.err


@each("width", [79, 159])
def test_the_list_fits_the_terminal(width: int) -> None:
    name = "a program with a rather long name that says what it is for"
    tokens = [
        Token(id="0123abcd", name=name, role="labeller", created_at=NOW, expires_at="2026-05-01T12:00:00.000Z"),
        Token(id="4567abcd", name="b", role="admin", created_at=NOW, last_used_at=NOW),
    ]

    lines = [click.unstyle(line) for line in token_table(tokens, width, NOW)]

    assert all(len(line) <= width for line in lines)
    assert (name in lines[1]) == (width > 100)
    assert lines[2].split() == ["4567abcd", "b", "admin", "valid", "never", "2026-01-31", "12:00"]
