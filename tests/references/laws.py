"""The measure that a law stands for, as outcomes of a discrete pair."""

from __future__ import annotations

from typing import Any

from references.outcomes import Outcomes, exact, number

__all__ = ["measure", "p_mass", "q_mass"]


def measure(law: Any) -> Outcomes:
    """One outcome for each atom, and for P at infinity and Q at zero.

    Where the loss is at least 0 the P-mass is taken as given and the Q-mass follows from the loss;
    below 0 the other way round. That is what an atom means.
    """
    result = [(number(law.p_infinite), number(0)), (number(0), number(law.q_zero))]
    for loss, p, q in zip(law.loss, law.p, law.q, strict=True):
        ratio = exact.exp(number(loss))
        result.append((number(p), p / ratio) if loss >= 0 else (q * ratio, number(q)))
    return result


def p_mass(law: Any) -> Any:
    """All P-mass, infinity included."""
    return exact.fsum(p for p, _ in measure(law))


def q_mass(law: Any) -> Any:
    """All Q-mass, zero included."""
    return exact.fsum(q for _, q in measure(law))
