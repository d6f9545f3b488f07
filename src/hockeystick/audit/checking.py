"""`check`: a run's projections on its canaries, beside its plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hockeystick import _validate as check_
from hockeystick.audit.fit import fit_of
from hockeystick.audit.hypotheses import decorrelated, log_ratios
from hockeystick.audit.report import AuditReport
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.plan import Plan, require_plan

__all__ = ["FEWEST", "check"]

# The laws of sums over fewer canaries are too far from what their moments say.
FEWEST = 100
# Strategies are matrices here.
MOST_STEPS = 8_000


def check(
    plan: Plan,
    *,
    noise_multiplier: float,
    projections: npt.ArrayLike,
    members: npt.ArrayLike,
    seed: int = 0,
) -> AuditReport:
    """Whether a run did what its plan says, from its canaries.

    Each canary is one independent draw of the pair that the accountant bounds (docs/audit.md), so
    its log likelihood ratio by the plan is the best score there is. Sums over the canaries are
    compared with draws of the plan: the noise, its correlation, the participation in every step,
    and the likelihood of other plans.

    Parameters
    ----------
    plan
        What was planned, with Gaussian noise; its unit is an example.
    noise_multiplier
        What was planned: the standard deviation of Z over the clip norm.
    projections
        Canaries by steps: the released noisy sums along the direction of each canary, in units of
        the clip norm. At least 100 canaries.
    members
        For each canary whether it was in the data.
    seed
        For the draws of the plan that the run is compared with.

    Returns
    -------
    AuditReport
        `consistent`, `p_value`, `findings`, `epsilon_lower(delta)`, `plot()`. Some seconds for a
        thousand canaries and 500 steps, most of them once for each plan.

    Raises
    ------
    UnsupportedPlan
        For users as the unit, mechanisms other than the Gaussian and more than 8,000 steps.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=5)
    >>> members = np.arange(200) < 100
    >>> noise = np.random.default_rng(3).normal(scale=2.0, size=(200, 5))
    >>> options = {"projections": noise + members[:, None], "members": members}
    >>> hs.audit.check(plan, noise_multiplier=2.0, **options).consistent
    True
    >>> hs.audit.check(plan, noise_multiplier=4.0, **options).findings[0].text
    'the noise is 0.508 times what was planned'
    """
    require_plan(plan)
    noise = check_.positive("noise_multiplier", noise_multiplier)
    if plan.mechanism is not None or plan.sampling.unit != "example" or plan.steps > MOST_STEPS:
        raise UnsupportedPlan(
            f"Audits are for Gaussian noise, examples as the unit and at most {MOST_STEPS:,} steps."
        )
    # A canary that is there or not, also where the plan is about replaced ones.
    plan = replace(plan, adjacency="add-remove")
    rows = np.asarray(projections, dtype=np.float64)
    inside = np.asarray(members)
    if rows.ndim != 2 or rows.shape[1] != plan.steps or len(rows) < FEWEST:
        allowed = f"at least {FEWEST} canaries by steps={plan.steps}"
        raise InvalidParameter("projections", allowed, rows.shape)
    if not np.isfinite(rows).all():
        raise InvalidParameter("projections", "finite numbers", "something else")
    if inside.shape != (len(rows),) or inside.dtype != np.bool_:
        raise InvalidParameter("members", f"{len(rows)} booleans", inside.shape)
    scores = log_ratios(plan, noise, decorrelated(plan.strategy, rows))
    fit = fit_of(plan, noise, rows, inside, seed=seed)
    return AuditReport(plan, noise, scores, inside, fit, rows)
