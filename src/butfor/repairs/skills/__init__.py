"""What goes wrong where, over many runs: causal steps in groups, and a curriculum of them."""

from butfor.repairs.skills.causal import CausalStep, causal_steps
from butfor.repairs.skills.curriculum import curriculum, write_curriculum
from butfor.repairs.skills.density import Stability, cluster, stability
from butfor.repairs.skills.skills import Skill, Skills, skills_of
from butfor.repairs.skills.terms import distances, terms_of

__all__ = [
    "causal_steps",
    "CausalStep",
    "skills_of",
    "Skills",
    "Skill",
    "cluster",
    "stability",
    "Stability",
    "distances",
    "terms_of",
    "curriculum",
    "write_curriculum",
]
