"""Stores queues of samples to be labelled, and who is looking at which sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import and_, delete, func, insert, or_, select, update

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.labelling import LabelItem, LabelQueue, QueueProgress
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.dialects import ordered
from prompt_evaluator.store.labels import insert_labels
from prompt_evaluator.store.schema import CASES, LABEL_ITEMS, LABEL_QUEUES, LABEL_SKIPS, LABELS
from prompt_evaluator.store.texts import storable
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from prompt_evaluator.model import Label
    from prompt_evaluator.model.labelling import Drawn

_ITEM, _SKIP = LABEL_ITEMS.c, LABEL_SKIPS.c
_FREE = {"reserved_by": None, "reserved_until": None}


class Turn(NamedTuple):
    """Whose turn it is, at what time, and until when a sample is kept for them."""

    reviewer: str
    now: str
    until: str


class LabelQueues(Access):
    """Queues of samples. Two reviewers never get the same sample at the same time."""

    def add_queue(self, queue: LabelQueue, drawn: Sequence[Drawn]) -> LabelQueue:
        """Store a queue with all its samples, and return it with its id."""
        values = {**msgspec.structs.asdict(queue), "created_by": storable(queue.created_by)}
        del values["id"]
        with self._write() as connection:
            made = connection.execute(insert(LABEL_QUEUES).values(values).returning(LABEL_QUEUES.c.id)).scalar_one()
            ids = _case_ids(connection, queue.run_id, [each.position for each in drawn])
            rows = [
                {
                    "queue_id": made,
                    "place": place,
                    "case_id": ids[each.position],
                    "sample": each.sample,
                    "attempt": each.attempt,
                    "probability": each.probability,
                }
                for place, each in enumerate(drawn, 1)
            ]
            connection.execute(insert(LABEL_ITEMS), rows)
        return msgspec.structs.replace(queue, id=made)

    def label_queue(self, queue_id: int) -> LabelQueue:
        """Return a queue.

        Raises:
            UnknownNameError: There is none with this number.
        """
        with self._read() as connection:
            row = connection.execute(select(LABEL_QUEUES).where(LABEL_QUEUES.c.id == queue_id)).mappings().first()
            if row is None:
                known = connection.scalars(select(LABEL_QUEUES.c.id).order_by(LABEL_QUEUES.c.id.desc()).limit(20)).all()
                raise UnknownNameError("label queue", str(queue_id), map(str, known))
            return LabelQueue(**row)

    def label_progress(
        self, run_id: str | None = None, *, queue_id: int | None = None, limit: int | None = None
    ) -> list[QueueProgress]:
        """Queues of one run, or all, or one queue, and how far each is; the newest first."""
        wanted = select(LABEL_QUEUES).order_by(LABEL_QUEUES.c.id.desc()).limit(limit)
        if run_id is not None:
            wanted = wanted.where(LABEL_QUEUES.c.run_id == run_id)
        if queue_id is not None:
            wanted = wanted.where(LABEL_QUEUES.c.id == queue_id)
        with self._read() as connection:
            queues = [LabelQueue(**row) for row in connection.execute(wanted).mappings()]
            return [_progress(connection, queue) for queue in queues]

    def label_counts(self, run_id: str | None = None) -> dict[str, int]:
        """How many labels were given to each run that has any, or to one run, including superseded ones."""
        wanted = select(LABELS.c.run_id, func.count()).group_by(LABELS.c.run_id)
        if run_id is not None:
            wanted = wanted.where(LABELS.c.run_id == run_id)
        with self._read() as connection:
            return {found: count for found, count in connection.execute(wanted)}  # noqa: C416 - rows are not tuples

    def reserve_item(self, queue_id: int, turn: Turn) -> LabelItem | None:
        """Keep the next sample for a reviewer, or the one that is kept for them already; None if nothing is left."""
        with self._write() as connection:
            own = _ITEM.reserved_by == storable(turn.reviewer)
            for whose in (own, _is_free(connection, turn.now)):
                open_items = (_ITEM.queue_id == queue_id, _ITEM.labelled_by.is_(None), _not_skipped(turn.reviewer))
                wanted = select(_ITEM.place).where(*open_items, whose).order_by(_ITEM.place).limit(1)
                # A file has one writer at a time; on a server, two processes must not reserve the same sample.
                place = connection.scalar(wanted.with_for_update(skip_locked=True))
                if place is not None:
                    return _reserved(connection, queue_id, place, turn)
        return None

    def label_item(self, queue_id: int, place: int) -> LabelItem:
        """Return one place of a queue.

        Raises:
            UnknownNameError: There is no such place.
        """
        with self._read() as connection:
            row = connection.execute(select(LABEL_ITEMS).where(*_at(queue_id, place))).mappings().first()
            if row is None:
                raise UnknownNameError("place", str(place), ())
            return LabelItem(**row)

    def labelled_items(self, queue_id: int, *, limit: int, start: int = 0) -> list[LabelItem]:
        """Samples of a queue that have a label, the last one first."""
        mine = (_ITEM.queue_id == queue_id, _ITEM.labelled_by.is_not(None))
        with self._read() as connection:
            newest = (ordered(connection, _ITEM.labelled_at).desc(), _ITEM.place.desc())
            wanted = select(LABEL_ITEMS).where(*mine).order_by(*newest).limit(limit).offset(start)
            return [LabelItem(**row) for row in connection.execute(wanted).mappings()]

    def close_item(self, item: LabelItem, labels: Sequence[Label], turn: Turn) -> None:
        """Add the label of a sample and end its reservation, both or none. The first label of a sample closes it."""
        values = {"labelled_by": storable(turn.reviewer), "labelled_at": turn.now, **_FREE}
        with self._write() as connection:
            insert_labels(connection, labels)
            open_item = (*_at(item.queue_id, item.place), _ITEM.labelled_by.is_(None))
            connection.execute(update(LABEL_ITEMS).where(*open_item).values(values))
            self._unskip(connection, item, turn.reviewer)

    def skip_item(self, item: LabelItem, turn: Turn) -> None:
        """Release a sample for others; this reviewer does not get it again."""
        values = {"queue_id": item.queue_id, "place": item.place, "reviewer": storable(turn.reviewer)}
        with self._write() as connection:
            self._unskip(connection, item, turn.reviewer)
            connection.execute(insert(LABEL_SKIPS).values(**values, skipped_at=turn.now))
            own = (*_at(item.queue_id, item.place), _ITEM.reserved_by == storable(turn.reviewer))
            connection.execute(update(LABEL_ITEMS).where(*own).values(_FREE))

    def reopen_item(self, item: LabelItem, labels: Sequence[Label], turn: Turn) -> LabelItem:
        """Let a sample that a reviewer labelled or skipped be labelled again by them, after adding these labels."""
        with self._write() as connection:
            insert_labels(connection, labels)
            self._unskip(connection, item, turn.reviewer)
            own = (LABEL_ITEMS.c.queue_id == item.queue_id, _ITEM.reserved_by == storable(turn.reviewer))
            connection.execute(update(LABEL_ITEMS).where(*own).values(_FREE))  # the one they were looking at
            free = {"labelled_by": None, "labelled_at": None}
            connection.execute(update(LABEL_ITEMS).where(*_at(item.queue_id, item.place)).values(free))
            return _reserved(connection, item.queue_id, item.place, turn)

    def last_item(self, queue_id: int, reviewer: str) -> LabelItem | None:
        """The sample that a reviewer labelled or skipped last; None if there is none."""
        name = storable(reviewer)
        skips = and_(_SKIP.queue_id == _ITEM.queue_id, _SKIP.place == _ITEM.place, _SKIP.reviewer == name)
        mine = or_(_ITEM.labelled_by == name, and_(_SKIP.reviewer.is_not(None), _ITEM.labelled_by.is_(None)))
        with self._read() as connection:
            moment = func.coalesce(ordered(connection, _SKIP.skipped_at), _ITEM.labelled_at)
            found = select(LABEL_ITEMS).join(LABEL_SKIPS, skips, isouter=True).where(_ITEM.queue_id == queue_id, mine)
            row = connection.execute(found.order_by(moment.desc(), _ITEM.place.desc()).limit(1)).mappings().first()
            return LabelItem(**row) if row else None

    def _unskip(self, connection: Connection, item: LabelItem, reviewer: str) -> None:
        mine = (_SKIP.queue_id == item.queue_id, _SKIP.place == item.place, _SKIP.reviewer == storable(reviewer))
        connection.execute(delete(LABEL_SKIPS).where(*mine))


def _at(queue_id: int, place: int) -> tuple[ColumnElement[bool], ...]:
    return (_ITEM.queue_id == queue_id, _ITEM.place == place)


def _is_free(connection: Connection, now: str) -> ColumnElement[bool]:
    return or_(_ITEM.reserved_until.is_(None), ordered(connection, _ITEM.reserved_until) < now)


def _not_skipped(reviewer: str) -> ColumnElement[bool]:
    same = (_SKIP.queue_id == _ITEM.queue_id, _SKIP.place == _ITEM.place, _SKIP.reviewer == storable(reviewer))
    return ~select(_SKIP.place).where(*same).exists()


def _reserved(connection: Connection, queue_id: int, place: int, turn: Turn) -> LabelItem:
    values = {"reserved_by": storable(turn.reviewer), "reserved_until": turn.until}
    taken = update(LABEL_ITEMS).where(*_at(queue_id, place)).values(values).returning(*LABEL_ITEMS.c)
    return LabelItem(**connection.execute(taken).mappings().one())


def _case_ids(connection: Connection, run_id: str, positions: Sequence[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for chunk in chunks(sorted(set(positions))):
        own = (CASES.c.run_id == run_id, CASES.c.position.in_(chunk))
        rows = connection.execute(select(CASES.c.position, CASES.c.case_id).where(*own))
        found |= {position: case_id for position, case_id in rows}  # noqa: C416 - rows are not tuples
    return found


def _progress(connection: Connection, queue: LabelQueue) -> QueueProgress:
    mine = _ITEM.queue_id == queue.id
    given = (mine, _ITEM.labelled_by.is_not(None))
    by_reviewer: Any = select(_ITEM.labelled_by, func.count(), func.max(ordered(connection, _ITEM.labelled_at)))
    rows = connection.execute(by_reviewer.where(*given).group_by(_ITEM.labelled_by)).all()
    skipped = select(func.count(func.distinct(_SKIP.place))).join(
        LABEL_ITEMS, and_(_SKIP.queue_id == _ITEM.queue_id, _SKIP.place == _ITEM.place)
    )
    return QueueProgress(
        queue=queue,
        labelled=sum(count for _, count, _ in rows),
        skipped=connection.scalar(skipped.where(mine, _ITEM.labelled_by.is_(None))) or 0,
        reviewers=tuple(sorted(name for name, _, _ in rows)),
        last_at=max((at for _, _, at in rows), default=None),
    )
