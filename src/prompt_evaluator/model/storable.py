"""JSON of answers. Half of a surrogate pair, which JSON can spell and UTF-8 cannot hold, becomes U+FFFD."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

_encode = msgspec.json.Encoder().encode
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

T = TypeVar("T")


def storable_text(text: str) -> str:
    """Replace lone surrogates."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encode_answer(answer: Any) -> bytes:
    """Encode what a plug-in or function has answered; raise as msgspec does if that is impossible."""
    try:
        return _encode(answer)
    except UnicodeEncodeError:  # a lone surrogate: `decode_answer` replaces it
        return json.dumps(msgspec.to_builtins(answer)).encode()


def decode_answer(data: bytes, shape: msgspec.json.Decoder[T]) -> T:
    """Decode a reply; raise as msgspec does, except for lone surrogates, which it refuses: they are replaced."""
    try:
        return shape.decode(data)
    except msgspec.DecodeError:
        if not _SURROGATE.search(data):
            raise
        try:
            found = json.loads(data.decode())
        except ValueError:
            found = None
        if found is None:
            raise
    return shape.decode(storable_text(json.dumps(found, ensure_ascii=False)).encode())
