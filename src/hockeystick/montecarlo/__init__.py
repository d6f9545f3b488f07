"""Monte Carlo accounting: draws of whole runs, what they are worth, and who draws them."""
