"""A run to be compared that was read from a `dataset_evaluation.json`, made here or elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.compare import artifact_errors as errors
from prompt_evaluator.compare.artifact_cases import compared_answer, compared_case
from prompt_evaluator.compare.artifact_facts import Survey, file_facts
from prompt_evaluator.compare.artifact_parts import Case, CaseTexts, Head, text, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.model.comparison import ComparedAnswer, ComparedCase, RunFacts
    from prompt_evaluator.ports import ComparedRun

_BOM = b"\xef\xbb\xbf"
_CASES_AT_ONCE = 256
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_head = msgspec.json.Decoder(Head).decode
_case = msgspec.json.Decoder(Case).decode
_texts = msgspec.json.Decoder(CaseTexts).decode


def read_artifact(path: Path, data: bytes) -> ComparedRun:
    """Read a run from the bytes of its file. All numbers in it are checked now; cases are decoded when needed.

    Args:
        path: Where the bytes are from, for messages.
        data: The whole file.

    Raises:
        InputError: It is not the main file of a run, or something that is needed has the wrong type.
    """
    head = _read_head(path, data)
    if head.test_case_results is None:
        raise errors.not_a_run(head, path)
    survey = Survey()
    cases: dict[str, msgspec.Raw] = {}
    num_samples = whole(head.num_samples_per_case)
    for at, raw in enumerate(head.test_case_results):
        case = _read_case(raw, at, path, data)
        if not case.test_case_id:
            raise errors.no_id(at, path)
        if case.test_case_id in cases:
            raise errors.repeated_id(case.test_case_id, list(cases).index(case.test_case_id), at, path)
        cases[case.test_case_id] = raw
        survey.add(case, compared_case(case, num_samples))
    return FileRun(file_facts(head, survey, path, len(cases)), cases)


class FileRun:
    """A run in a file. Holds the bytes of the file, and decodes a case each time it is asked for."""

    def __init__(self, facts: RunFacts, cases: dict[str, msgspec.Raw]) -> None:
        """Take the cases by id, known to be valid, in file order."""
        self.facts, self._cases = facts, cases

    def case_ids(self) -> Iterator[str]:
        """Ids of all cases, in file order."""
        return iter(self._cases)

    def batches(self) -> Iterator[Sequence[ComparedCase]]:
        """All cases in file order, some hundred at a time."""
        raws = list(self._cases.values())
        for start in range(0, len(raws), _CASES_AT_ONCE):
            yield [self._compared(raw) for raw in raws[start : start + _CASES_AT_ONCE]]

    def find(self, case_ids: Sequence[str]) -> dict[str, ComparedCase]:
        """Those of these cases that the run has."""
        return {each: self._compared(self._cases[each]) for each in case_ids if each in self._cases}

    def answers(self, case_id: str) -> Sequence[ComparedAnswer]:
        """All samples of a case, in order; empty if unknown."""
        raw = self._cases.get(case_id)
        samples = _texts(raw).samples if raw is not None else None
        return [compared_answer(sample, at) for at, sample in enumerate(samples or ())]

    def input(self, case_id: str) -> str | None:
        """The input of a case, if it is known."""
        raw = self._cases.get(case_id)
        return text(_case(raw).test_case_input) if raw is not None else None

    def _compared(self, raw: msgspec.Raw) -> ComparedCase:
        return compared_case(_case(raw), self.facts.num_samples)


def _read_head(path: Path, data: bytes) -> Head:
    try:
        return _head(data.removeprefix(_BOM))
    except msgspec.ValidationError as error:
        if "out of range" in str(error):
            raise errors.malformed(error, data, path) from None
        raise errors.wrong_head(error, path) from None
    except _UNREADABLE as error:
        raise errors.malformed(error, data, path) from None


def _read_case(raw: msgspec.Raw, at: int, path: Path, data: bytes) -> Case:
    try:
        return _case(raw)
    except msgspec.ValidationError as error:
        raise errors.wrong_case(error, bytes(raw), at, path) from None
    except _UNREADABLE as error:
        raise errors.malformed(error, data, path) from None
