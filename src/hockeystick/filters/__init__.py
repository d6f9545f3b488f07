"""Privacy filters: budgets for runs whose parameters are chosen while they run."""

from __future__ import annotations

from hockeystick.filters.audit import Audit, AuditPoint
from hockeystick.filters.base import Filter
from hockeystick.filters.gaussian import ApproximateGaussian, Gaussian
from hockeystick.filters.individual import Individual
from hockeystick.filters.individual.spending import IndividualReport, IndividualStep
from hockeystick.filters.levy import Levy
from hockeystick.filters.levy.process import LevyProcess
from hockeystick.filters.natural_fdp import NaturalFDP, NotAChain
from hockeystick.filters.registry import from_description, join, register
from hockeystick.filters.renyi import Renyi
from hockeystick.filters.renyi.odometer import Odometer
from hockeystick.filters.renyi.several import RenyiOrders
from hockeystick.filters.request import GaussianStep, Permit
from hockeystick.filters.residual import Residual
from hockeystick.filters.residual.menus import Menu, MenuDesign
from hockeystick.filters.two_rounds import TwoRounds

__all__ = [
    "ApproximateGaussian",
    "Audit",
    "AuditPoint",
    "Filter",
    "Gaussian",
    "GaussianStep",
    "Individual",
    "IndividualReport",
    "IndividualStep",
    "Levy",
    "LevyProcess",
    "Menu",
    "MenuDesign",
    "NaturalFDP",
    "NotAChain",
    "Odometer",
    "Permit",
    "Renyi",
    "RenyiOrders",
    "Residual",
    "TwoRounds",
    "from_description",
    "join",
    "register",
]

# In the order in which comparisons list them.
register(Gaussian)
register(Renyi)
register(RenyiOrders)
register(Levy)
register(Residual)
register(ApproximateGaussian)
register(NaturalFDP)
register(TwoRounds)
register(Individual)
