"""A planted offline search corpus: every success probability is known exactly, so every verdict can be audited."""
