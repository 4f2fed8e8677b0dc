"""Signing in with a token of each role: who sees what, and who may do what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from seeded_site import seed
from served import served
from workspace import Workspace

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.tokens import create_token
from prompt_evaluator.model.token import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser
    from seeded_site import Seeded
    from served import Served


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    return seed(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def tokens(seeded: Seeded) -> dict[str, str]:
    return {role: create_token(seeded.settings, role, role, now=now()).text.reveal() for role in ROLES}


@pytest.fixture(scope="module")
def server(seeded: Seeded, tokens: dict[str, str]) -> Iterator[Served]:
    assert tokens
    with served(Workspace(seeded.folder), "--no-worker", PROMPT_EVALUATOR_SERVER_ALLOWED_HOSTS="eval.example") as found:
        yield found


@pytest.mark.parametrize("role", ROLES)
def test_each_role_sees_what_it_may_do(
    browser: Browser, server: Served, seeded: Seeded, tokens: dict[str, str], role: str
) -> None:
    context = browser.new_context()
    page = context.new_page()
    try:
        page.goto(f"{server.address}/runs/{seeded.better}")
        expect(page).to_have_url(f"{server.address}/sign-in")
        page.get_by_label("Token").fill(tokens[role])
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("tbody tr")).not_to_have_count(0)

        page.wait_for_load_state()
        assert page.get_by_text("Start a run").count() == (role in {"runner", "admin"})
        row = page.locator(f"tr[data-run='{seeded.aborted}']")
        assert row.get_by_role("button", name="Resume").count() == (role in {"runner", "admin"})
        row.locator("summary").click()
        assert row.get_by_role("button", name="Delete").count() == (role == "admin")
        cookie = next(each for each in context.cookies() if each["name"] == "prompt_evaluator_token")
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"
    finally:
        context.close()


def test_a_wrong_token_is_told_and_nothing_is_shown(browser: Browser, server: Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    try:
        page.goto(server.address)
        page.get_by_label("Token").fill("pe_00000000_nothing")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("not valid")
        expect(page).to_have_url(f"{server.address}/sign-in")
    finally:
        context.close()
