"""MessagePack in parts is the MessagePack of the whole."""

from __future__ import annotations

import msgspec
import pytest

from prompt_evaluator.store.packing import encoded_parts, list_start


class Pair(msgspec.Struct, array_like=True):
    first: bytes
    others: dict[str, bytes]


@pytest.mark.parametrize("size", [0, 1, 15, 16, 200, 65_535, 65_536])
def test_parts_are_those_of_the_whole_whatever_the_size(size: int) -> None:
    value = Pair(bytes(size), {str(number): b"x" for number in range(size)})

    assert b"".join(encoded_parts(value)) == msgspec.msgpack.encode(value)


@pytest.mark.parametrize("size", [0, 15, 16, 65_535, 65_536])
def test_a_list_begins_with_its_size(size: int) -> None:
    assert msgspec.msgpack.encode([None] * size) == list_start(size) + msgspec.msgpack.encode(None) * size


def test_a_value_comes_in_several_parts() -> None:
    columns = Pair(b"a" * 100, {"b": b"b" * 100, "c": b"c" * 100})

    assert max(map(len, encoded_parts(columns))) < 110
