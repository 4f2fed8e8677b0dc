"""How surprising is the largest jump in a series that has none?

The statistic of a scan is the largest |z| over all places where a series could be cut in two. The z of neighbouring
places are correlated, and the later ones depend on the earlier ones only through the last (they are a Brownian bridge,
seen at the shares of information on the left of each cut). So the distribution of the largest is found by integrating
over one place at a time (Armitage, McPherson and Rowe 1969): exact for any weights, without random numbers.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from prompt_evaluator.stats.distributions import normal_quantile, t_two_sided

if TYPE_CHECKING:
    from collections.abc import Sequence

_SURE = 1e-5
"""Below this, the sum of the chances of all places is as good: few places exceed such a bound together."""
_NEAREST = 0.001
"""Places whose z share more variance than all but this are one place: a run with a huge error says nothing new."""
_STEP = 16
_MOST_NODES = 256


def tail(z: float, freedom: float | None) -> float:
    """Return the chance that Student's t, or a normal deviate if `freedom` is None, is at least this far from 0."""
    return math.erfc(abs(z) / math.sqrt(2)) if freedom is None else t_two_sided(z, freedom)


def scan_p_value(weights: Sequence[float], statistic: float, freedom: float | None = None) -> float:
    """Return the chance that a scan of a series without a change gives at least this statistic.

    Args:
        weights: One per value: 1 / its variance.
        statistic: The largest |z|.
        freedom: Degrees of freedom of the variances, if they were estimated together; None if they are known. The
            statistic is then replaced by the normal deviate with the same tail, as is usual for sequential tests.
    """
    places = len(weights) - 1
    one = tail(statistic, freedom)
    if places < 2 or one >= 1:  # noqa: PLR2004
        return one
    if one * places <= _SURE:
        return one * places
    return min(1.0, max(one, 1 - _stays_below(_shares(weights), -normal_quantile(one / 2))))


def _shares(weights: Sequence[float]) -> list[float]:
    """The shares of the total weight to the left of each cut, without those that are nearly the same place."""
    total, left = math.fsum(weights), 0.0
    shares: list[float] = []
    for weight in weights[:-1]:
        left += weight
        share = left / total
        if not shares or _new_variance(shares[-1], share) >= _NEAREST:
            shares.append(share)
    return shares


def _new_variance(earlier: float, later: float) -> float:
    """The part of the variance of the later z that the earlier one does not explain."""
    return 1 - earlier * (1 - later) / (later * (1 - earlier)) if later < 1 else 0.0


def _stays_below(shares: Sequence[float], bound: float) -> float:
    """The chance that |z| is below the bound at all these shares."""
    import numpy as np  # noqa: PLC0415 - takes a tenth of a second

    new = [_new_variance(*pair) for pair in pairwise(shares)]
    # The narrowest bell curve needs nodes no further apart than its width.
    wanted = 1.4 * bound / math.sqrt(min(new, default=1.0)) + 8
    nodes, node_weights = _nodes(min(_MOST_NODES, _STEP * math.ceil(wanted / _STEP)))
    at, width = nodes * bound, node_weights * bound
    density = np.sqrt(2 / np.pi) * np.exp(-(at**2) / 2)
    for variance in new:
        centre = math.sqrt(1 - variance) * at
        near = np.exp(-((at[:, None] - centre) ** 2) / (2 * variance))
        far = np.exp(-((at[:, None] + centre) ** 2) / (2 * variance))
        density = (near + far) @ (density * width) / math.sqrt(2 * math.pi * variance)
    return float(density @ width)


@lru_cache(maxsize=32)
def _nodes(count: int) -> tuple[Any, Any]:
    """Gauss-Legendre nodes and weights from 0 to 1."""
    import numpy as np  # noqa: PLC0415

    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2
