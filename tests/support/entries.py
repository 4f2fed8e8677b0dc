"""A test of many entries is one test: a loop over all of them that names each one that fails."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.mark.structures import ParameterSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_FAILURES = (Exception, pytest.fail.Exception)


def each(
    names: str | tuple[str, ...], entries: Iterable[Any], ids: Iterable[str] | Callable[[Any], object] | None = None
) -> Callable[..., Any]:
    """Run the test with every entry, as `pytest.mark.parametrize` would, but as one test whose fixtures all share."""
    wanted = [names] if isinstance(names, str) else list(names)
    given = list(entries)
    values = [
        entry.values if isinstance(entry, ParameterSet) else (entry,) if len(wanted) == 1 else entry for entry in given
    ]
    if ids is None or callable(ids):
        named = ids or repr
        labels = [", ".join(str(named(part))[:200] for part in value) for value in values]
    else:
        labels = [str(label) for label in ids]
    labels = [
        str(entry.id) if isinstance(entry, ParameterSet) and entry.id else label
        for entry, label in zip(given, labels, strict=True)
    ]
    rows = [(label, dict(zip(wanted, value, strict=True))) for label, value in zip(labels, values, strict=True)]
    assert rows, "a test of no entries shows nothing"

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(test):

            @functools.wraps(test)
            async def loop(**fixtures: Any) -> None:
                failures = []
                for label, row in rows:
                    try:
                        await test(**fixtures, **row)
                    except _FAILURES as failure:
                        failures.append(_named(failure, label))
                _raise(failures, len(rows))
        else:

            @functools.wraps(test)
            def loop(**fixtures: Any) -> None:
                failures = []
                for label, row in rows:
                    try:
                        test(**fixtures, **row)
                    except _FAILURES as failure:
                        failures.append(_named(failure, label))
                _raise(failures, len(rows))

        signature = inspect.signature(test)
        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in wanted]
        loop.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined] # pytest reads it
        return loop

    return decorate


def _named(failure: BaseException, label: str) -> Exception:
    named = failure if isinstance(failure, Exception) else AssertionError(str(failure))
    named.add_note(f"entry: {label}")
    return named


def _raise(failures: list[Exception], count: int) -> None:
    if failures:
        named = "; ".join(failure.__notes__[-1].removeprefix("entry: ") for failure in failures[:20])
        raise ExceptionGroup(f"{len(failures)} of {count} entries failed: {named}", failures[:5])
