"""Privacy filters: budgets for runs whose parameters are chosen while they run."""

from __future__ import annotations

from hockeystick.filters.approximate_gaussian import ApproximateGaussian
from hockeystick.filters.audit import Audit
from hockeystick.filters.base import Filter
from hockeystick.filters.gaussian import Gaussian
from hockeystick.filters.individual.filter import Individual, IndividualStep
from hockeystick.filters.individual.report import IndividualReport
from hockeystick.filters.levy.filter import Levy
from hockeystick.filters.levy.process import LevyProcess
from hockeystick.filters.natural_fdp import NaturalFDP, NotAChain
from hockeystick.filters.permit import Permit
from hockeystick.filters.renyi.filter import Renyi

__all__ = [
    "ApproximateGaussian",
    "Audit",
    "Filter",
    "Gaussian",
    "Individual",
    "IndividualReport",
    "IndividualStep",
    "Levy",
    "LevyProcess",
    "NaturalFDP",
    "NotAChain",
    "Permit",
    "Renyi",
]
