"""The table of the b-min-sep paper, as far as it needs no Monte Carlo."""

from __future__ import annotations

import pytest

import b_min_sep_cifar_table as script

# Around the best number of bands at each epsilon; the script itself tries all.
NEIGHBOURS = {0.5: (1, 2, 4), 1.0: (2, 4, 8), 2.0: (4, 8, 16), 4.0: (8, 16, 32), 8.0: (16, 32, 64)}


@pytest.mark.slow
def test_small_mode(capsys, tmp_path):
    """Prints both rows and writes them."""
    assert script.main(["--small", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed] == ["row", "DP-SGD", "cyclic"]
    assert (tmp_path / "b_min_sep_cifar_table.csv").read_text().count("\n") == 3


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", NEIGHBOURS)
def test_printed_digits(epsilon):
    """DP-SGD within 0.1 %, cyclic Poisson within 0.2 % of the paper."""
    assert script.error(epsilon, 1) == pytest.approx(script.DP_SGD[epsilon], rel=1e-3)
    best = min(script.error(epsilon, bands) for bands in NEIGHBOURS[epsilon])
    assert best == pytest.approx(script.CYCLIC_POISSON[epsilon], rel=2e-3)
