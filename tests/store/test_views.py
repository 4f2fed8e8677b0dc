"""Named views: kept, replaced, renamed, deleted, in either kind of store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.view import View

if TYPE_CHECKING:
    from prompt_evaluator.store import Store


def _view(name: str, address: str = "/") -> View:
    return View(name=name, address=address, saved_at="2026-01-31T12:00:00.000Z", saved_by="anna")


def test_views_are_kept_by_name_and_replaced_by_the_same_name(store: Store) -> None:
    for name, address in (("tea", "/"), ("Coffee", "/errors"), ("tea", "/compare?a=1&b=2#slices")):
        assert store.save_view(_view(name, address), most=10)

    assert store.views() == [_view("Coffee", "/errors"), _view("tea", "/compare?a=1&b=2#slices")]


def test_no_more_than_so_many_are_kept_but_those_can_be_replaced(store: Store) -> None:
    assert [store.save_view(_view(name), most=2) for name in ("a", "b", "c", "b")] == [True, True, False, True]
    assert [view.name for view in store.views()] == ["a", "b"]


def test_a_view_gets_another_name_unless_it_is_taken(store: Store) -> None:
    for name in ("a", "b"):
        store.save_view(_view(name), most=10)

    assert store.rename_view("a", "c") == store.rename_view("c", "c") == _view("c")
    assert store.rename_view("c", "b") is None
    assert [view.name for view in store.views()] == ["b", "c"]


def test_what_is_not_there_is_neither_renamed_nor_deleted(store: Store) -> None:
    store.save_view(_view("morning"), most=10)

    with pytest.raises(UnknownNameError, match=r"mourning.*morning"):
        store.rename_view("mourning", "x")
    with pytest.raises(UnknownNameError, match="mourning"):
        store.delete_view("mourning")
    store.delete_view("morning")
    assert store.views() == []
