"""What the driver and a worker process send each other. Several messages travel together, as bytes."""

from __future__ import annotations

import msgspec

from prompt_evaluator.model.run import Unit
from prompt_evaluator.model.work import ItemEnd, WorkItem


class Do(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Work on an item."""

    number: int
    """Tells items in progress apart: a sample may be handed out twice."""
    item: WorkItem


class GiveUp(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Cancel an item."""

    number: int


class StartNothing(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The run is stopping."""


class Stored(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """So many more of the process's units are durable."""

    units: int


class Note(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Between the desk and its worker."""

    data: bytes


class Made(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """A finished unit."""

    unit: Unit


class Ended(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """How an item ended. All its units were sent before."""

    number: int
    end: ItemEnd


class Raised(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """A worker raised an error, which ends the run."""

    number: int
    kind: str
    """The error's class."""
    message: str


ToWorker = Do | GiveUp | StartNothing | Stored | Note
ToDriver = Made | Ended | Raised | Note

encode = msgspec.msgpack.Encoder().encode
read_by_worker = msgspec.msgpack.Decoder(list[ToWorker]).decode
read_by_driver = msgspec.msgpack.Decoder(list[ToDriver]).decode
