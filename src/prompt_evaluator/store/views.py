"""Stores named views of the dashboard."""

from __future__ import annotations

import msgspec
from sqlalchemy import delete, func, insert, select, update

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.view import View
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import VIEWS
from prompt_evaluator.store.texts import clean


class Views(Access):
    """Named views."""

    def views(self) -> list[View]:
        """All views, sorted by name."""
        with self._read() as connection:
            rows = connection.execute(select(VIEWS)).mappings().all()
        return sorted((View(**row) for row in rows), key=lambda view: (view.name.casefold(), view.name))

    def save_view(self, view: View, *, most: int) -> bool:
        """Store a view, replacing one of the same name; False if there are already this many others."""
        values = {name: clean(value) for name, value in msgspec.structs.asdict(view).items()}
        with self._write() as connection:
            others = select(func.count()).select_from(VIEWS).where(VIEWS.c.name != values["name"])
            if (connection.scalar(others) or 0) >= most:
                return False
            connection.execute(delete(VIEWS).where(VIEWS.c.name == values["name"]))
            connection.execute(insert(VIEWS).values(values))
        return True

    def rename_view(self, name: str, new: str) -> View | None:
        """Rename a view and return it; None if another one has the name."""
        before, after = clean(name), clean(new)
        with self._write() as connection:
            names = connection.scalars(select(VIEWS.c.name)).all()
            if before not in names:
                raise UnknownNameError("view", name, names)
            if before != after and after in names:
                return None
            connection.execute(update(VIEWS).where(VIEWS.c.name == before).values(name=after))
            return View(**connection.execute(select(VIEWS).where(VIEWS.c.name == after)).mappings().one())

    def delete_view(self, name: str) -> None:
        with self._write() as connection:
            if not connection.execute(delete(VIEWS).where(VIEWS.c.name == clean(name))).rowcount:
                raise UnknownNameError("view", name, connection.scalars(select(VIEWS.c.name)).all())
