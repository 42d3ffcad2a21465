"""What the papers publish, to stand beside what is measured here; never used to decide anything."""

from __future__ import annotations

# CIVeX, arXiv 2605.09168: utility, and false executions per action where given.
CIVEX: dict[str, str] = {
    "Oracle": "+2.76",
    "AlwaysAbstain": "+0.99",
    "this gate, paper settings": "adversarial +2.23 (2.16–2.31), 81% of Oracle, right 84.9%, false 0; moderate +2.29",
    "EXPERIMENT off": "+0.99",
    "LLM, chain of thought": "Opus +1.65, false 0; Sonnet false 1.0%",
    "LLM verifiers": "false 1 to 10% in tricky settings",
    "observed relabelled latent": "fewer correct, false 0",
}
