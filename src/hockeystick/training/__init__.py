"""Training in plain NumPy, and the privacy statement of any run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hockeystick.training import policies as policies
from hockeystick.training.adaptive_clipping import AdaptiveClipping
from hockeystick.training.clip_rules import Automatic, Flat, PerLayer
from hockeystick.training.coverage import Coverage
from hockeystick.training.filtered import describe_filter, rate_for_filters
from hockeystick.training.fingerprints import fingerprint
from hockeystick.training.fit import Fitted, fit_linear, fit_logistic
from hockeystick.training.jax_bridge import JaxPrivacyExport, to_jax_privacy
from hockeystick.training.joint import JointStatement, joint_statement, load_statement
from hockeystick.training.linear_models import LinearRegression, LogisticRegression, OuterProducts
from hockeystick.training.recheck import Recheck, check_statement
from hockeystick.training.record import RunRecord, statement, versions_of
from hockeystick.training.run import PrivateRun
from hockeystick.training.schedules import TakenSteps
from hockeystick.training.signatures import new_key_files
from hockeystick.training.statements import Statement

if TYPE_CHECKING:
    from hockeystick.training.estimators import PrivateLinearRegression, PrivateLogisticRegression

__all__ = [
    "AdaptiveClipping",
    "Automatic",
    "Coverage",
    "Fitted",
    "Flat",
    "JaxPrivacyExport",
    "JointStatement",
    "LinearRegression",
    "LogisticRegression",
    "OuterProducts",
    "PerLayer",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateRun",
    "Recheck",
    "RunRecord",
    "Statement",
    "TakenSteps",
    "check_statement",
    "describe_filter",
    "fingerprint",
    "fit_linear",
    "fit_logistic",
    "joint_statement",
    "load_statement",
    "new_key_files",
    "rate_for_filters",
    "statement",
    "to_jax_privacy",
    "versions_of",
]


def __getattr__(name: str) -> Any:
    """The estimators, which need scikit-learn, on demand."""
    if name in ("PrivateLinearRegression", "PrivateLogisticRegression"):
        from hockeystick.training import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
