"""Losses of runs in which an example takes part in random steps, at any number of noise levels.

What the schemes share: outputs y enter the likelihood ratio through their inner products
u_i = <c_i, y>/s^2 with the columns (columns.py); a participation in step i multiplies it by
e^(u_i - h_i), h_i = |c_i|^2/2s^2; a recursion over the steps averages over all ways x to take part,
LR = E_x[L_x]. If columns of participations may overlap, the products that the recursion cannot see
are left out for a run with the example, which makes its likelihood ratio larger [DongGanesh26,
Lemma B.1], and bounded for a run without it, which makes it smaller: either way delta is not
underestimated.

Proposals. With m_x = C x, the expected mean m = E_x[m_x] and g_i = <c_i, m>/s^2, a proposal with
scale t and shift r draws y = t m_x + r m + s z, where trajectories x have their probabilities
multiplied by e^(sum of w_i over x)/Z. Its density over that of the noise alone is
R/Q = e^(r<m,y>/s^2 - r^2|m|^2/2s^2) E_x[e^(sum over x of t u_i - t^2 h_i - t r g_i + w_i)] / Z, one
more recursion; with w_i = t(t-1) h_i + t r g_i, where the law can be so weighted, the exponent is
t (u_i - h_i), and without a shift R/Q = E_x[L_x^t]/Z.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import PrecisionError
from hockeystick.schemes.capabilities import Missing, Run, Simulator
from hockeystick.schemes.simulation import (
    BLOCK,
    Drawn,
    Proposal,
    Replicas,
    Simulation,
    TupleProgramme,
    TupleSource,
    log_largest_payoff,
)
from hockeystick.schemes.simulation.columns import Columns, Trajectories, columns_of, too_long

__all__ = ["ParticipationLaw", "ParticipationRun", "half_norms", "log_ratios", "simulator"]

# The plain recursions lose nothing to underflow while staying out has at least e^-this probability.
LARGEST_EXPONENT = 500.0


class ParticipationLaw(Protocol):
    """The law of the steps in which an example takes part, or a user's examples."""

    @property
    def log_staying_out(self) -> float:
        """log of the probability of taking part in no step at all, or a bound from below."""

    @property
    def expected(self) -> FloatArray:
        """The expected number of copies in each step."""

    @property
    def expected_squares(self) -> FloatArray:
        """The expected square of the number of copies in each step."""

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """In which steps it takes part."""

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log LR of each row from the factors e^(u - h); what overflows is not finite."""

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """log LR of each row from the exponents u - h."""

    def weighted(self, log_weights: FloatArray) -> tuple[Self, float] | None:
        """The law with participations weighted, and log Z; None if it cannot be."""


class _Tilt(NamedTuple):
    """A proposal, worked out: the law of its trajectories, and what its density needs."""

    proposal: Proposal
    law: ParticipationLaw
    log_z: float
    correction: FloatArray
    half: FloatArray
    moved: FloatArray
    length: float


@dataclass(frozen=True, eq=False)
class ParticipationRun:
    """A simulation together with the columns of its strategy and the law of participation.

    `hidden` is at least the overlap of the column of each step with those of later participations.
    Densities of proposals are known where participations do not overlap, and `tuples` of replicas
    where the law of participation has programmes for them.
    """

    run: Simulation
    columns: Columns
    law: ParticipationLaw
    takes_proposals: bool = True
    hidden: FloatArray | float = 0.0
    tuples: TupleSource | None = None

    def draws(self, count: int, rng: np.random.Generator) -> Iterator[Drawn]:
        """Draw the noise and, for a run with the example, the participations; then log LR."""
        from hockeystick.schemes.simulation.draw_kernels import put_together

        run, norms = self.run, self.columns.squared_norms
        size = min(count, max(1, BLOCK // norms.size))
        tilt, reference = self._tilt(run.proposal), self._tilt(run.reference)
        law = self.law if tilt is None else tilt.law
        blocks = np.empty((2, size, norms.size))
        signals = np.empty((size if run.present else 0, norms.size))
        scale, moved = (1.0, 0.0) if tilt is None else (tilt.proposal.scale, tilt.moved)
        programme = None if run.replicas is None else self._programme(run.replicas)
        for start in range(0, count, size):
            rows = min(size, count - start)
            noise, exponents, signal = blocks[0, :rows], blocks[1, :rows], signals[:rows]
            self.columns.noise(rng, noise)
            drawn = None if programme is None else programme.draw(rows, rng)
            if drawn is not None:
                self.columns.signal(drawn.trajectories, signal)
            elif run.present:
                self.columns.signal(law.trajectories(rows, rng), signal)
            losses = np.empty((len(run.noise_multipliers), rows))
            for level, deviation in enumerate(run.noise_multipliers):
                half = half_norms(norms, deviation)
                less = half + self.hidden / deviation**2 - moved
                put_together(noise, 1 / deviation, signal, scale / deviation**2, less, exponents)
                losses[level] = log_ratios(self.law, exponents, half)
            if drawn is not None and run.replicas is not None:
                levels = run.noise_multipliers
                yield Drawn(losses, drawn.payoff_weights(run.replicas, levels, losses))
                continue
            sign = 1.0 if run.present else -1.0
            wanted = np.flatnonzero(sign * losses[-1] > run.least_loss)
            yield Drawn(
                losses,
                self._log_weights(tilt, exponents, losses, wanted),
                self._log_weights(reference, exponents, losses, wanted),
            )

    def log_ratios(self, products: FloatArray) -> FloatArray:
        """By the recursion; larger than the exact one where columns of participations overlap."""
        (deviation,) = self.run.noise_multipliers
        half = half_norms(self.columns.squared_norms, deviation)
        return log_ratios(self.law, self.columns.of_steps(products) / deviation**2 - half, half)

    def log_largest_payoff(self, epsilon: float) -> float:
        """A proven bound, for scaling alone with the example and for shifting alone without it.

        With: P/R = Z LR / E_x[L_x^t] <= Z LR^(1-t) by Jensen's inequality, so that the payoff
        (1 - e^epsilon/LR) P/R is at most Z e^((1-t) epsilon) (t-1)^(t-1) / t^t. Without: by Jensen
        <m,y>/s^2 <= log LR + E|m_x|^2/2s^2, and with r = -shift the payoff (1 - e^epsilon LR) Q/R
        is at most e^(-r epsilon + r E|m_x|^2/2s^2 + r^2 |m|^2/2s^2) r^r / (1+r)^(1+r). Tuples of
        replicas: replicas.py.
        """
        replicas = self.run.replicas
        if replicas is not None:
            own = self.run.noise_multipliers == (replicas.noise_multiplier,)
            bound = self.tuples.log_largest(replicas) if own and self.tuples else math.inf
            return log_largest_payoff(bound, replicas.order, epsilon)
        tilt = self._tilt(self.run.proposal)
        if tilt is None:
            return 0.0
        if self.run.present:
            t = tilt.proposal.scale
            if tilt.proposal.shift != 0 or not t > 1 or np.any(tilt.correction):
                return math.inf
            return tilt.log_z - (t - 1) * epsilon + (t - 1) * math.log(t - 1) - t * math.log(t)
        r = -tilt.proposal.shift
        if not r > 0:
            return math.inf
        squares = float(self.law.expected_squares @ tilt.half)
        payoff = -r * epsilon + r * squares + r * r * tilt.length / 2
        return payoff + r * math.log(r) - (1 + r) * math.log1p(r)

    def shift_for(self, loss: float) -> float:
        """Moving along the expected mean m by a shift r changes <m, y>/s^2 by r |m|^2/s^2."""
        (deviation,) = self.run.noise_multipliers
        expected = self.law.expected
        squared = float(expected @ self.columns.products(expected))
        return loss * deviation**2 / squared if squared > 0 else 0.0

    def _programme(self, replicas: Replicas) -> TupleProgramme:
        """What draws the tuples."""
        found = None if self.tuples is None else self.tuples.programme(replicas)
        if found is None:
            text = "Tuples of replicas are beyond floating point here: nothing was drawn."
            raise PrecisionError(text, lower=0.0, upper=math.inf)
        return found

    def _tilt(self, proposal: Proposal | None) -> _Tilt | None:
        """A proposal for the run's only noise level, worked out."""
        if proposal is None:
            return None
        (deviation,) = self.run.noise_multipliers
        half = half_norms(self.columns.squared_norms, deviation)
        expected = self.law.expected
        means = self.columns.products(expected) / deviation**2
        t, r = proposal
        wanted = t * (t - 1) * half + t * r * means
        found = self.law.weighted(wanted) if self.run.present else None
        law, log_z = (self.law, 0.0) if found is None else found
        correction = -wanted if found is None else np.zeros_like(half)
        length = float(expected @ means)
        return _Tilt(proposal, law, log_z, correction, half, r * means, length)

    def _log_weights(
        self,
        tilt: _Tilt | None,
        exponents: FloatArray,
        losses: FloatArray,
        wanted: NDArray[np.int64],
    ) -> FloatArray | None:
        """log of the run's density over that of the proposal, for the wanted draws."""
        if tilt is None:
            return None
        log_weights = np.zeros(exponents.shape[0])
        t, r = tilt.proposal
        rows = exponents[wanted]
        along = (rows + tilt.half) @ self.law.expected
        log_density = r * along - r * r * tilt.length / 2 - tilt.log_z
        if self.run.present:
            # Copies of an example take t^2 h for half their square.
            log_density += log_ratios(self.law, t * rows + tilt.correction, t * t * tilt.half)
            log_density -= losses[0, wanted]
        log_weights[wanted] = -log_density
        return log_weights


def half_norms(squared_norms: FloatArray, deviation: float) -> FloatArray:
    """Half the squared length of each column over the variance of the noise."""
    with np.errstate(over="ignore", divide="ignore"):
        half: FloatArray = squared_norms / deviation / deviation / 2
    if np.isfinite(half).all():
        return half
    raise PrecisionError(
        f"Noise multiplier {deviation:g} is too small beside the strategy for floating point: "
        "nothing was drawn.",
        lower=0.0,
        upper=math.inf,
    )


def log_ratios(law: ParticipationLaw, exponents: FloatArray, half: FloatArray) -> FloatArray:
    """log LR of each row; in logarithms throughout where plain numbers do not suffice."""
    if law.log_staying_out < -LARGEST_EXPONENT:
        return law.logarithmic(exponents, half)
    with np.errstate(all="ignore"):
        losses = law.plain(np.exp(exponents), half)
    lost = ~np.isfinite(losses)
    if lost.any():
        losses[lost] = law.logarithmic(exponents[lost], half)
    return losses


def simulator(
    run: Run,
    law_of: Callable[[int], ParticipationLaw],
    *,
    gap: int,
    held: range = range(1, 2),
    tuples: Callable[[int], TupleSource | None] | None = None,
) -> Simulator | Missing:
    """Draws of a run whose participations are at least `gap` steps apart.

    `law_of(number)` is the law of participation of a unit with that number of examples,
    `tuples(number)` where its tuples of replicas come from. With at most `gap` bands the columns of
    two participations never overlap, and recursions are exact. With more, the recursion leaves out
    the products <c_i, c_j> of two participations, which are not negative because C >= 0. Its
    likelihood ratio is too large then, the safe side for a run with the example (remove)
    [DongGanesh26, Lemma B.1]. For a run without it (add) each step is charged with
    `Columns.overlaps`, at least its products with all later participations, times the most copies
    of one of these: the likelihood ratio is too small.
    """
    reason = too_long(run)
    if reason is not None:
        return Missing(reason)
    bands = run.strategy.bands
    apart = bands <= gap

    def prepare(simulation: Simulation) -> ParticipationRun:
        columns, law = columns_of(run), law_of(simulation.held)
        if simulation.present or apart:
            source = None
            if simulation.present and tuples is not None:
                source = tuples(simulation.held)
            return ParticipationRun(simulation, columns, law, apart, tuples=source)
        overlaps = simulation.held * columns.overlaps(gap)
        return ParticipationRun(simulation, columns, law, apart, overlaps)

    remark = (
        f"more bands ({bands:,}) than the separation ({gap:,}): overlaps are bounded "
        "(Lemma B.1 of Dong & Ganesh)"
    )
    return Simulator(prepare, held, None if apart else remark)
