"""Messages of errors: what differs from one time to the next makes no other group, what says another thing does."""

from __future__ import annotations

from entries import each

from prompt_evaluator.model.error_pattern import error_name, error_pattern, pattern_id, split_name

ALIKE = {
    "numbers": ("Wait 20 s, limit 10,000.", "Wait 7.5 s, limit 400.", "Wait [number] s, limit [number]."),
    "ids": (
        "Request 0c9f7f0e-9a0c-4e0e-8d6e-2b0a1f3c4d5e failed",
        "Request 11111111-2222-3333-4444-555555555555 failed",
        "Request [id] failed",
    ),
    "hashes": ("commit 3fa2b1c0 is gone", "commit deadbee5 is gone", "commit [id] is gone"),
    "names of requests": ("see req_8f3ac2d17b90", "see req_0000aaaa1111", "see [id]"),
    "times": ("at 2026-01-02T03:04:05.678Z: no", "at 2025-12-31 23:59+01:00: no", "at [time]: no"),
    "spaces": ("a\n  b", "a b", "a b"),
}


@each("what", ALIKE)
def test_messages_that_differ_only_in_this_are_alike(what: str) -> None:
    one, other, pattern = ALIKE[what]

    assert error_pattern(one) == error_pattern(other) == pattern
    assert pattern_id(one) == pattern_id(other)


def test_words_and_names_of_models_stay() -> None:
    texts = ("The model gpt-4o refused.", "The model gpt-4 refused.", "The key is wrong.", "no_such_name_here is wrong")

    assert [error_pattern(text) for text in texts] == list(texts)
    assert len({pattern_id(text) for text in texts}) == len(texts)


def test_a_filter_names_a_kind_alone_or_with_a_pattern() -> None:
    assert split_name(error_name("TimedOutError", "after 3 s")) == ("TimedOutError", pattern_id("after 9 s"))
    assert split_name("TimedOutError") == ("TimedOutError", None)
    assert split_name("TimedOutError/") == ("TimedOutError", None)


def test_a_hostile_message_takes_no_longer() -> None:
    for text in ("a" * 10**6, "0" * 10**6, "0a" * 10**6, "a_" * 10**6, "-" * 10**6, "1," * 10**6, "\ud800"):
        assert pattern_id(text)
