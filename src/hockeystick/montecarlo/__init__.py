"""Monte Carlo accounting: draws of whole runs, pilots and tests that rest on them."""
