"""One flag in two runs: how often it is raised, case by case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from prompt_evaluator.compare.columns import Measure, Measured, PairedColumn, nothing_measured, paired_result
from prompt_evaluator.model.comparison import FlagComparison

if TYPE_CHECKING:
    from prompt_evaluator.compare.blocks import Block, FlagBlock
    from prompt_evaluator.model.comparison import SideName
    from prompt_evaluator.stats.packed import Bools


class FlagTally:
    """How often a flag was raised."""

    def __init__(self) -> None:
        self._column = PairedColumn()
        self._cases = [0, 0]
        self._shares = [0.0, 0.0]

    def add(self, block: Block, sides: tuple[FlagBlock | None, FlagBlock | None]) -> None:
        for number, side in enumerate(sides):
            if side is not None:
                self._cases[number] += int(side.known.sum())
                self._shares[number] += float(_measured(side, side.known).mean.sum())
        baseline, candidate = sides
        if baseline is not None and candidate is not None:
            both = baseline.known & candidate.known & block.common
            self._column.add(_measured(baseline, both), _measured(candidate, both))

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


def _measured(flag: FlagBlock, cases: Bools) -> Measured:
    raised, asked = flag.raised[cases], flag.asked[cases]
    share = raised / asked
    errors = np.where(asked > 1, share * (1 - share) / np.maximum(asked - 1, 1), np.nan)
    return Measured(share, errors, asked)
