"""Test beds: failed runs whose tail can be executed again without a hosted model."""
