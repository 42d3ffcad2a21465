"""Decisions on real covariates and real logs: who would be treated, which item would be shown, and was it right."""
