"""GSM8K model solutions as runs: each calculation is a step, and later calculations that used its value follow it."""
