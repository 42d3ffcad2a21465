"""Settings that all tests share."""

from hypothesis import HealthCheck, settings

# A busy machine must not fail a law: time is measured in benchmarks, never in tests.
settings.register_profile("laws", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("laws")
