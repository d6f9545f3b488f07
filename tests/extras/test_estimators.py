"""scikit-learn's own checks for the private estimators, and their statements."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import hockeystick as hs
from hockeystick.errors import InvalidParameter
from hockeystick.training import PrivateLinearRegression, PrivateLogisticRegression

ESTIMATORS = [
    PrivateLogisticRegression(steps=3, random_state=0),
    PrivateLinearRegression(steps=3, random_state=0),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks(estimator, check):
    """All of them, with a fixed seed; only scores are not compared, because of the noise."""
    check(estimator)


def test_fit_states_what_it_spent():
    """Epsilon and delta are those that were asked for; a plan changes how they are spent."""
    x, y = load_breast_cancer(return_X_y=True)
    # Known ranges, not statistics of the data.
    ranges = np.array([30, 40, 200, 2500, 0.2, 0.4, 0.5, 0.2, 0.3, 0.1] * 3)
    scale = FunctionTransformer(lambda v: np.clip(v / ranges, 0, 2) - 0.5)
    for plan in (None, hs.Plan(sampling=hs.Poisson(rate=0.2), steps=100)):
        model = PrivateLogisticRegression(
            epsilon=4.0, delta=1e-6, plan=plan, classes=(0, 1), learning_rate=0.5, random_state=3
        )
        fitted = make_pipeline(scale, clone(model)).fit(x, y)
        stated = fitted[-1].statement_
        assert 3.9 <= stated.epsilon <= 4.0
        assert hs.training.check_statement(stated).holds
        assert stated.taken_steps == fitted[-1].n_iter_ == (plan.steps if plan else 50)
        assert fitted.score(x, y) > 0.8


def test_labels_are_public_or_warned_about():
    """A label that only one example has would tell of it."""
    x, y = np.zeros((4, 1)), [0, 1, 0, 1]
    with pytest.warns(UserWarning, match="classes="):
        PrivateLogisticRegression(steps=1).fit(x, y)
    with pytest.raises(InvalidParameter, match="classes"):
        PrivateLogisticRegression(steps=1, classes=(0, 2)).fit(x, y)
    assert PrivateLogisticRegression(steps=1, classes=(0, 1, 2)).fit(x, y).coef_.shape == (3, 1)
