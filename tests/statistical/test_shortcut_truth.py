"""The shortcut audit cries wolf as rarely as it says, and sees a weak shortcut."""

import random

from scipy.stats import binom

from butfor.repairs.pairs import audit

WORDS = ["order", "policy", "money", "shop", "looked", "before", "any", "read.", "left,", "then\n", "- 17", "`x`"]
AUDITS = 120


def said(generator, words):
    return {"role": "assistant", "content": " ".join(generator.choice(WORDS) for _ in range(words))}


def warned(*, edge, tasks=40, each=1):
    """Count warnings; with probability `edge` the chosen answer is drawn to be the longer one."""
    count = 0
    for seed in range(AUDITS):
        generator = random.Random(f"{seed} {edge} {each}")
        pairs = []
        for i in range(tasks):
            # Pairs of one task are of about one length, so that they are not independent of each other.
            middle = generator.randint(8, 40)
            for _ in range(each):
                short, long = sorted((middle, middle + generator.randint(1, 8)))
                good = long if generator.random() < edge else short
                pairs.append((f"task {i}", said(generator, good), said(generator, short + long - good)))
        count += audit(pairs).warns
    return count


def test_without_a_shortcut_it_warns_at_its_level():
    # A two-sided 95 % interval lies above one half with probability 2.5 %.
    bound = binom.ppf(1 - 1e-6, AUDITS, 0.025)
    assert warned(edge=0.5) <= bound
    assert warned(edge=0.5, tasks=20, each=3) <= bound


def test_a_chosen_answer_that_is_longer_in_nine_of_ten_is_seen():
    assert warned(edge=0.9) > AUDITS * 0.9
