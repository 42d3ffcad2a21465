"""What the papers publish, to stand beside what is measured here; never used to decide anything."""

from __future__ import annotations

# CIVeX, arXiv 2605.09168: utility, and false executions per action where given.
CIVEX: dict[str, str] = {
    "Oracle": "+2.76",
    "AlwaysAbstain": "+0.99",
    "this gate, paper settings": "adversarial +2.23 (2.16 to 2.31), accuracy 84.9%, false 0; moderate +2.29",
    "EXPERIMENT off": "+0.99",
    "LLM, chain of thought": "Opus +1.65, false 0; Sonnet false 1.0%",
    "LLM verifiers": "false 1 to 10% in tricky settings",
    "observed relabelled latent": "fewer correct, false 0",
}
# Of the adversarial regime: +2.23 of Oracle's +2.76.
CIVEX_SHARE_OF_ORACLE = 2.23 / 2.76
