"""BIG-Bench-Mistake traces whose task has a rule: any step can be decided again from what was written before it."""
