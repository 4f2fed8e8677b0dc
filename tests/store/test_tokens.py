"""Tokens: kept as hashes, checked without saying more than yes or no, refused once expired or revoked."""

from __future__ import annotations

from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from stores import ON_FILE, everything, locked, sql

from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.tokens import check_token, create_token, list_tokens, revoke_token
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.model.token import ROLES, Token, allows
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.token import Role

NOW = "2026-01-31T12:00:00.000Z"


@pytest.fixture
def settings(store: Store, location: Path | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    assert store.tokens() == []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompt_evaluator.yaml").write_text(f"store: {location}\n")
    return read_settings()


def make(settings: Settings, name: str = "anna", role: Role = "viewer", **more: Any) -> str:
    return create_token(settings, name, role, **{"now": NOW, **more}).text.reveal()


def test_a_token_lets_its_owner_in_until_it_expires(settings: Settings, store: Store) -> None:
    text = make(settings, role="runner")

    found = check_token(store, text, now="2026-05-01T11:59:59.999Z")

    assert found is not None
    assert (found.name, found.role, found.expires_at) == ("anna", "runner", "2026-05-01T12:00:00.000Z")
    assert check_token(store, text, now="2026-05-01T12:00:00.000Z") is None


def test_only_a_hash_of_the_secret_is_stored_and_no_log_shows_it(
    settings: Settings, store: Store, location: Path | str
) -> None:
    text = make(settings)
    token_id, secret = text.split("_", 2)[1:]
    check_token(store, text, now=NOW)

    assert len(token_id) == 8
    assert len(secret) == 43
    assert sql(location, "SELECT id, hash FROM tokens") == [(token_id, _hash(secret))]
    assert secret.encode() not in everything(location)
    assert secret not in REDACTOR.text(f"GET / with {text}")


def test_a_token_that_was_checked_appears_in_no_log(store: Store) -> None:
    secret = "checked-" + "x" * 35
    store.add_token(Token(id="0123abcd", name="x", role="viewer", created_at=NOW), _hash(secret))

    assert check_token(store, f"pe_0123abcd_{secret}", now=NOW) is not None
    assert secret not in REDACTOR.text(f"Authorization: Bearer pe_0123abcd_{secret}")


def test_what_is_not_a_token_is_refused(settings: Settings, store: Store) -> None:
    text = make(settings)
    prefix, token_id, secret = text.split("_", 2)
    unknown = "00000000" if token_id != "00000000" else "00000001"
    wrong = ("a" if secret[0] != "a" else "b") + secret[1:]
    refused = [
        "",
        text[:-1],
        f"{text}=",
        f" {text}",
        f"{text}\n",
        text.upper(),
        secret,
        f"{prefix}_{unknown}_{secret}",
        f"{prefix}_{token_id}_{wrong}",
        f"{prefix}_{token_id}_{_hash(secret)}",
        f"{prefix}_{token_id}_" + "0" * 43,
        f"pe_{'é' * 8}_{secret}",
        "pe_" * 100_000,
    ]

    assert [check_token(store, each, now=NOW) for each in refused] == [None] * len(refused)
    assert check_token(store, text, now=NOW) is not None


@pytest.mark.parametrize("by", ["name", "id"])
def test_a_revoked_token_is_refused_from_then_on(settings: Settings, store: Store, by: str) -> None:
    text, other = make(settings), make(settings, "bert")

    revoked = revoke_token(settings, "anna" if by == "name" else text.split("_")[1], now=NOW)

    assert (revoked.name, revoked.state(NOW)) == ("anna", "revoked")
    assert check_token(store, text, now=NOW) is None
    assert check_token(store, other, now=NOW) is not None
    with pytest.raises(UnknownNameError, match="There is no valid token 'anna'"):
        revoke_token(settings, "anna", now=NOW)


def test_a_name_has_one_valid_token(settings: Settings, store: Store) -> None:
    first = make(settings)
    with pytest.raises(ConfigurationError, match=r"already a token 'anna', with the id .*Revoke it first"):
        make(settings, " anna ")

    revoke_token(settings, "anna", now=NOW)
    second = make(settings)

    assert check_token(store, second, now=NOW) is not None
    assert [token.state(NOW) for token in list_tokens(settings)].count("revoked") == 1
    assert make(settings, now="2027-01-31T12:00:00.000Z") != first


def test_the_last_use_is_recorded_once_a_minute(settings: Settings, store: Store) -> None:
    text = make(settings)

    def used(now: str) -> str | None:
        check_token(store, text, now=now)
        return list_tokens(settings)[0].last_used_at

    assert list_tokens(settings)[0].last_used_at is None
    assert used(NOW) == NOW
    assert used("2026-01-31T12:00:59.999Z") == NOW
    assert used("2026-01-31T12:01:00.000Z") == "2026-01-31T12:01:00.000Z"
    assert used(NOW) == "2026-01-31T12:01:00.000Z"


def test_a_refused_token_was_not_used(settings: Settings, store: Store) -> None:
    text = make(settings)

    check_token(store, text[:-1] + ("a" if text[-1] != "a" else "b"), now=NOW)

    assert list_tokens(settings)[0].last_used_at is None


@ON_FILE
def test_a_store_that_another_process_has_locked_lets_the_owner_in(settings: Settings, location: Path) -> None:
    text = make(settings)
    impatient = Store.open(location, patience=0.05)

    with closing(impatient), locked(location):
        assert check_token(impatient, text, now=NOW) is not None


@pytest.mark.parametrize(
    ("expires", "when"),
    [
        ("30d", "2026-03-02T12:00:00.000Z"),
        ("12h", "2026-02-01T00:00:00.000Z"),
        ("2027-01-01", "2027-01-01T00:00:00.000Z"),
        ("366d", "2027-02-01T12:00:00.000Z"),
        ("never", None),
    ],
)
@ON_FILE
def test_an_expiry_is_a_time_a_date_or_never(settings: Settings, expires: str, when: str | None) -> None:
    made = create_token(settings, "anna", "viewer", now=NOW, expires=expires)

    assert made.token.expires_at == when
    assert list_tokens(settings) == [made.token]


@each(
    ("expires", "why"),
    [
        ("0d", "not in the future"),
        ("2026-01-31", "not in the future"),
        ("367d", "at most 366 days"),
        ("2027-02-02", "at most 366 days"),
        ("9999d", "at most 366 days"),
        ("", "cannot be read"),
        ("30", "cannot be read"),
        ("-3d", "cannot be read"),
        ("2027-13-01", "cannot be read"),
        ("99999999999999d", "cannot be read"),
    ],
)
@ON_FILE
def test_any_other_expiry_is_refused(settings: Settings, expires: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        make(settings, expires=expires)

    assert list_tokens(settings) == []


@each("name", ["", "  ", "x" * 65, "a\nb", "a\x1b[31m", "\u202ea"], ids=ascii)
@ON_FILE
def test_a_name_that_cannot_be_shown_is_refused(settings: Settings, name: str) -> None:
    with pytest.raises(ConfigurationError, match="A token cannot have the name"):
        make(settings, name)


@ON_FILE
def test_an_unknown_role_is_refused_with_the_nearest(settings: Settings) -> None:
    with pytest.raises(UnknownNameError, match=r"There is no role 'amin'. Did you mean 'admin'\?"):
        make(settings, role="amin")  # type: ignore[arg-type]  # as another program might


def test_a_role_may_do_what_lower_roles_may() -> None:
    assert [[allows(role, needed) for needed in ROLES] for role in ROLES] == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
