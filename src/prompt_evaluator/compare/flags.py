"""One flag in two runs: how often it is raised, case by case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.compare.columns import Measure, Measured, PairedColumn, nothing_measured, paired_result
from prompt_evaluator.model.comparison import FlagComparison

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import SideName
    from prompt_evaluator.model.query import CaseFlag


class FlagTally:
    """How often a flag was raised."""

    def __init__(self) -> None:
        self._column = PairedColumn()
        self._cases = [0, 0]
        self._shares = [0.0, 0.0]

    def add(self, baseline: CaseFlag | None, candidate: CaseFlag | None, *, common: bool) -> None:
        measured = _measured(baseline), _measured(candidate)
        for side, share in enumerate(measured):
            if share is not None:
                self._cases[side] += 1
                self._shares[side] += share.mean
        if common and measured[0] is not None and measured[1] is not None:
            self._column.add(measured[0], measured[1])

    def finish(self, flag_threshold: float) -> FlagComparison:
        measure = Measure(0.0, 1.0, flag_threshold, good=-1)
        missing = self._missing_side()
        if missing:
            shares = [total / cases if cases else None for total, cases in zip(self._shares, self._cases, strict=True)]
            result = nothing_measured(measure, missing)
        else:
            shares = [self._column.baseline.mean, self._column.candidate.mean]
            result = paired_result(self._column, measure)
        return FlagComparison(**msgspec.structs.asdict(result), baseline_share=shares[0], candidate_share=shares[1])

    def _missing_side(self) -> SideName | None:
        if bool(self._cases[0]) == bool(self._cases[1]):
            return None
        return "candidate" if self._cases[0] else "baseline"


def _measured(flag: CaseFlag | None) -> Measured | None:
    if flag is None or not flag.asked:
        return None
    share = flag.raised / flag.asked
    return Measured(share, share * (1 - share) / (flag.asked - 1) if flag.asked > 1 else None, flag.asked)
