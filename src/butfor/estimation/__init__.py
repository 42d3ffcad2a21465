"""Evidence tables, estimators, diagnostics and sensitivity."""
