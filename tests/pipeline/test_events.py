"""What happens in a run is told in order to everybody who looks."""

from __future__ import annotations

import msgspec

from prompt_evaluator.model.event import AnyEvent, SampleStarted
from prompt_evaluator.pipeline.events import Events


def tell(events: Events, *samples: int) -> None:
    for sample in samples:
        events.tell(SampleStarted, case_id="a", sample=sample)


def test_every_subscriber_gets_every_event_with_the_run_and_a_number() -> None:
    events, first, second = Events("run-1"), list[AnyEvent](), list[AnyEvent]()
    events.subscribe(first.append)
    events.subscribe(second.append)

    tell(events, 4, 7)

    assert first == second
    assert [(event.run_id, event.sequence) for event in first] == [("run-1", 1), ("run-1", 2)]


def test_events_are_numbered_even_without_subscribers() -> None:
    events, seen = Events("r"), list[AnyEvent]()
    tell(events, 1, 2)
    end = events.subscribe(seen.append)
    tell(events, 3)
    end()
    tell(events, 4)

    assert [event.sequence for event in seen] == [3]
    assert events.sequence == 4


def test_a_subscriber_that_raises_is_removed_and_does_not_affect_others() -> None:
    events, seen, asked = Events("r"), list[AnyEvent](), list[int]()

    def broken(event: AnyEvent) -> None:
        asked.append(event.sequence)
        raise ValueError("no screen")

    events.subscribe(broken)
    events.subscribe(seen.append)
    tell(events, 1, 2)

    assert asked == [1]
    assert [event.sequence for event in seen] == [1, 2]


def test_an_event_survives_being_sent() -> None:
    event = SampleStarted(run_id="r", sequence=3, case_id="ü", sample=2)

    assert msgspec.json.decode(msgspec.json.encode(event), type=AnyEvent) == event
