"""Student's t distribution, from the regularised incomplete beta function. Pure and standard library only."""

from __future__ import annotations

import math


def t_quantile(probability: float, degrees: float) -> float:
    """Return the quantile of Student's t distribution, by bisection of `t_cdf`, good to about 1e-13 relative."""
    if probability < 0.5:
        return -t_quantile(1 - probability, degrees)
    low, high = 0.0, 1.0
    while t_cdf(high, degrees) < probability:
        low, high = high, high * 2
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if t_cdf(middle, degrees) < probability else (low, middle)
    return (low + high) / 2


def t_cdf(t: float, degrees: float) -> float:
    """Return P(T <= t): Abramowitz and Stegun 26.7.1 with 26.5.27, in the form that keeps its digits near t = 0."""
    square = t * t
    if square < degrees:
        half = incomplete_beta(0.5, degrees / 2, square / (degrees + square)) / 2
    else:
        half = 0.5 - incomplete_beta(degrees / 2, 0.5, degrees / (degrees + square)) / 2
    return 0.5 + math.copysign(half, t)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b).

    Continued fraction DLMF 8.17.22, evaluated by the modified Lentz method (Thompson and Barnett 1986); for
    x > (a + 1)/(a + b + 2) through the symmetry DLMF 8.17.4, where the fraction converges fast.
    """
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front / a / _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    fraction, c, d = 1.0, 1.0, 0.0
    for step in range(500):
        m = step // 2
        if step == 0:
            numerator = -(a + b) * x / (a + 1)
        elif step % 2:
            m += 1
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + numerator * d or tiny)
        c = 1 + numerator / c or tiny
        change = c * d
        fraction *= change
        if abs(change - 1) < 1e-16:
            break
    return fraction
