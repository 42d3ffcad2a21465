"""Settings that all tests share."""

import signal

from hypothesis import HealthCheck, settings

# A shell starts its background jobs with Ctrl-C ignored, and so would be every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine must not fail a law: time is measured in benchmarks, never in tests.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# `make test` draws the same cases each time: a red run is the fault of a change. `make test-slow` seeks new ones.
settings.register_profile("laws", patient, derandomize=True)
settings.register_profile("exploring", patient)
settings.load_profile("laws")
