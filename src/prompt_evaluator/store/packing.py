"""MessagePack of large values in parts, so that no more than a part of them is in memory twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

_encode = msgspec.msgpack.Encoder().encode


def encoded_parts(value: Any) -> Iterator[bytes]:
    """The same bytes as encoding the whole value. Structs have to be `array_like`."""
    if isinstance(value, msgspec.Struct):
        yield list_start(len(value.__struct_fields__))
        for field in value.__struct_fields__:
            yield from encoded_parts(getattr(value, field))
    elif isinstance(value, dict):
        yield _start(len(value), 0x80, 0xDE)
        for name, each in value.items():
            yield _encode(name)
            yield from encoded_parts(each)
    else:
        yield _encode(value)


def list_start(size: int) -> bytes:
    """How a list of this size begins."""
    return _start(size, 0x90, 0xDC)


def _start(size: int, short: int, long: int) -> bytes:
    """How a list or mapping begins, by the specification of MessagePack."""
    if size < 1 << 4:
        return bytes([short | size])
    if size < 1 << 16:
        return bytes([long]) + size.to_bytes(2, "big")
    return bytes([long + 1]) + size.to_bytes(4, "big")
