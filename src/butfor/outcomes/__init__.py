"""Ready-made outcome rules and judges."""
