"""Statistics of the method: medians, intervals, autocorrelation, drift. Pure and standard library only.

Sums are `math.fsum`, so that every Python from 3.9 on computes the same figures. Two intervals, never mixed:

- inside a process, `median_half_width` says when to stop. It is not published: it knows nothing of what differs
  between processes, which is usually more.
- across processes, `t_interval` on the logarithms of the process medians is published.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.student_t import t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

#: 97.5 % point of the standard normal distribution.
Z_95 = 1.959963984540054
#: The median absolute deviation of a normal distribution is its standard deviation divided by this.
MAD_TO_SD = 1.4826
MAX_BLOCKS = 40  # blocks of the drift test: 780 slopes, milliseconds
MIN_BLOCKS = 6  # fewer blocks cannot exclude zero at 95 %


@dataclass(frozen=True)
class HalfWidth:
    """The precision of a median: relative half-width of its 95 % interval, and the autocorrelation time in it."""

    relative: float
    autocorrelation: float


@dataclass(frozen=True)
class Interval:
    """A centre and the two ends of its interval; the ends are None where there is nothing to tell them from."""

    centre: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Drift:
    """How a series moved: relative change from its first to its second half, and whether that is more than noise."""

    relative: float
    low: float
    high: float
    flagged: bool


def quantile(values: Sequence[float], fraction: float) -> float:
    """Return a quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan 1996)."""
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    below = min(int(position), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def median(values: Sequence[float]) -> float:
    """Return the median; the mean of the two in the middle for an even count."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def mad(values: Sequence[float]) -> float:
    """Return the median absolute deviation from the median, unscaled."""
    centre = median(values)
    return median([abs(value - centre) for value in values])


def autocorrelation_time(values: Sequence[float]) -> float:
    """Return the integrated autocorrelation time, in samples, of "is above the median"; 0.5 for independent samples.

    The variance of a sample median depends on the correlation of these signs, not of the values, and one outlier
    cannot upset them. The sum of correlations is cut by Geyer's initial positive sequence (Practical Markov Chain Monte
    Carlo, 1992, section 3.3): pairs of lags (0 and 1, 2 and 3 ...) are added while they are positive and, to damp
    noise, not larger than the pair before. Signs are the bits of one integer, so a lag costs a shift and a count.
    """
    count = len(values)
    centre = median(values)
    bits = int("".join("1" if value > centre else "0" for value in values) or "0", 2)
    share = bin(bits).count("1") / max(count, 1)
    variance = share * (1 - share)
    if count < 4 or variance == 0:
        return 0.5
    total, previous = 0.0, math.inf
    for lag in range(0, count // 2 - 1, 2):
        even = _sign_correlation(bits, count, lag, share) if lag else 1.0
        pair = min(previous, even + _sign_correlation(bits, count, lag + 1, share))
        if pair <= 0:
            break
        total, previous = total + pair, pair
    return max(0.5, total - 0.5)


def _sign_correlation(bits: int, count: int, lag: int, share: float) -> float:
    """Return the autocorrelation of a series of bits at `lag`, with the mean `share` of the whole series."""
    overlap = count - lag
    mask = (1 << overlap) - 1
    late, early = bits & mask, bits >> lag
    both = bin(late & early).count("1")
    ones = bin(late).count("1") + bin(early).count("1")
    covariance = both / overlap - share * ones / overlap + share * share
    # Dividing by `count` instead of `overlap` biases long lags towards zero, which keeps their noise out.
    return covariance * overlap / count / (share * (1 - share))


def median_half_width(values: Sequence[float], z: float = Z_95) -> HalfWidth:
    """Return the relative half-width of the median's 95 % interval from order statistics of correlated samples.

    For independent samples the interval runs between the ranks n/2 +- z sqrt(n)/2 (David and Nagaraja, Order
    Statistics, 2003, section 7.1). Correlation leaves n/(2 tau) effective samples, which widens the ranks by
    sqrt(2 tau). Infinite while the ranks lie outside the sample: there is no interval yet.
    """
    count = len(values)
    tau = autocorrelation_time(values)
    ordered = sorted(values)
    reach = z * math.sqrt(count * 2 * tau) / 2
    low, high = math.floor(count / 2 - reach), math.ceil(count / 2 + reach)
    if low < 1 or high > count:
        return HalfWidth(math.inf, tau)
    return HalfWidth((ordered[high - 1] - ordered[low - 1]) / 2 / median(ordered), tau)


def drift(times: Sequence[float], values: Sequence[float], threshold: float = 0.01) -> Drift:
    """Say whether a series moved by more than `threshold` from its first half to its second, beyond its noise.

    The change is that of the medians of the halves. Its interval comes from the Theil-Sen slope over the medians of
    consecutive blocks (Sen 1968, ranks from the variance of Kendall's tau), times half the duration: the centres of the
    halves are that far apart. Blocks make neighbours nearly independent; few samples give no flag.
    """
    count = len(values)
    half = count // 2
    if half < 1:
        return Drift(0.0, 0.0, 0.0, flagged=False)
    relative = median(values[count - half :]) / median(values[:half]) - 1
    size = math.ceil(count / MAX_BLOCKS)
    slopes = _slopes(times, values, size)
    if slopes:
        # A trend looks like correlation, which would make the blocks too long to see the trend: take it out first.
        trend = median(slopes)
        rest = [value - trend * at for at, value in zip(times, values)]
        size = max(size, math.ceil(2 * autocorrelation_time(rest)))
        slopes = _slopes(times, values, size)
    blocks = count // size
    if blocks < MIN_BLOCKS or not slopes:
        return Drift(relative, -math.inf, math.inf, flagged=False)
    reach = Z_95 * math.sqrt(blocks * (blocks - 1) * (2 * blocks + 5) / 18)
    # Ranks M1 and M2 + 1 of Sen's, counted from 0: as many slopes lie below the interval as above.
    first = max(0, math.floor((len(slopes) - reach) / 2) - 1)
    last = min(len(slopes) - 1, math.ceil((len(slopes) + reach) / 2))
    scale = (times[-1] - times[0]) / 2 / median(values)
    low, high = slopes[first] * scale, slopes[last] * scale
    return Drift(relative, low, high, flagged=abs(relative) > threshold and (low > 0 or high < 0))


def _slopes(times: Sequence[float], values: Sequence[float], size: int) -> list[float]:
    """Return the slopes between all pairs of medians of consecutive blocks of `size`, sorted."""
    blocks = len(values) // size
    at = [math.fsum(times[i * size : (i + 1) * size]) / size for i in range(blocks)]
    level = [median(values[i * size : (i + 1) * size]) for i in range(blocks)]
    pairs = ((i, j) for i in range(blocks) for j in range(i + 1, blocks) if at[j] > at[i])
    return sorted((level[j] - level[i]) / (at[j] - at[i]) for i, j in pairs)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive values."""
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def t_interval(medians: Sequence[float], alpha: float = 0.05) -> Interval:
    """Return the geometric mean of the process medians and its 1 - `alpha` t-interval on their logarithms.

    This is the published uncertainty: a process is the unit of replication, and its median the observation.
    """
    centre = geometric_mean(medians)
    if len(medians) < 2:
        return Interval(centre, None, None)
    reach = t_quantile(1 - alpha / 2, len(medians) - 1) * log_sd(medians) / math.sqrt(len(medians))
    return Interval(centre, centre * math.exp(-reach), centre * math.exp(reach))


def log_sd(values: Sequence[float]) -> float:
    """Return the standard deviation (n - 1) of the logarithms: a relative spread."""
    logs = [math.log(value) for value in values]
    mean = math.fsum(logs) / len(logs)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in logs) / (len(logs) - 1))
