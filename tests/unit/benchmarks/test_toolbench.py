"""What the toolbench's methods rule, and what its table counts."""

import dataclasses

import numpy as np
import pytest

from butfor.benchmarks.harness import Settings, find
from butfor.benchmarks.toolbench import FAMILIES, instances
from butfor.benchmarks.toolbench.ablations import StaleCase, hidden
from butfor.benchmarks.toolbench.baselines import BASELINES
from butfor.benchmarks.toolbench.calibration import harmful_action
from butfor.benchmarks.toolbench.cases import Case, Ruling
from butfor.benchmarks.toolbench.gate_methods import DEFAULTS, PAPER_SETTINGS
from butfor.benchmarks.toolbench.language_models import described, language_models, ruled
from butfor.benchmarks.toolbench.published_rule import from_log, papers_gate
from butfor.benchmarks.toolbench.regression import effect_of, through
from butfor.benchmarks.toolbench.scores import Scored, share, upper
from butfor.benchmarks.toolbench.selection import SPENDING, levels
from butfor.benchmarks.toolbench.surrogate_gate import run_gate
from butfor.benchmarks.toolbench.table import checks, methods, run_methods
from butfor.errors import InputError, NotFound

ROOT = 20261130


def of_family(name, **more):
    found = next(one for one in instances(ROOT, seeds=[0]) if one.family.name == name)
    return dataclasses.replace(found, **more)


def test_oracle_is_never_wrong_and_who_abstains_never_acts():
    listed = instances(ROOT, seeds=[0])
    results = run_methods(listed, {name: BASELINES[name] for name in ("Oracle", "AlwaysAbstain", "AlwaysExecute")})
    assert results["Oracle"].utility.tolist() == [abs(one.effect) for one in listed]
    assert not results["AlwaysAbstain"].executed.any()
    assert results["AlwaysExecute"].false == results["AlwaysExecute"].harmful


@pytest.mark.parametrize("method", [papers_gate, PAPER_SETTINGS, DEFAULTS, BASELINES["AlwaysAbstain"]])
def test_nothing_irreversible_and_unidentified_is_tried_or_executed(method):
    one = of_family("service restart", effect=4.0, reversible=False)
    assert method(Case(one)) == Ruling(verdict="ABSTAIN", executed=False, reason=method(Case(one)).reason)


@pytest.mark.parametrize("gate", [PAPER_SETTINGS, DEFAULTS])
def test_what_is_unidentified_and_reversible_is_decided_on_the_trial_alone(gate):
    good = of_family("service restart", effect=4.0, push=-3.5, reversible=True)
    harmful = of_family("service restart", effect=-4.0, push=3.5, reversible=True)
    assert gate(Case(good)).tried
    assert gate(Case(good)).executed
    assert gate(Case(harmful)).tried
    assert not gate(Case(harmful)).executed


def test_paper_settings_and_the_rule_written_out_differ_only_where_an_instrument_is_stated():
    for one in instances(ROOT, seeds=[1]):
        ours, theirs = PAPER_SETTINGS(Case(one)), papers_gate(Case(one))
        if one.family.route in ("back-door", "unidentified"):
            assert (ours.verdict, ours.executed) == (theirs.verdict, theirs.executed)
        elif one.family.route == "instrument":
            assert theirs.verdict in ("EXPERIMENT", "ABSTAIN")
            assert ours.verdict in ("EXECUTE", "REJECT")


def test_regressions_recover_planted_slopes_and_their_spread():
    noise = np.random.default_rng(5)
    t, w = (noise.random(4000) < 0.5).astype(float), noise.normal(size=4000)
    rows = {"t": t, "w": w, "m": 2.0 * t + noise.normal(size=4000)}
    rows["y"] = 1.5 * rows["m"] + w + noise.normal(size=4000)
    point, error = effect_of(rows, "t", "y", ["w"])
    assert abs(point - 3.0) < 5 * error
    assert error == pytest.approx(2 * np.hypot(1.0, 1.5) / np.sqrt(4000), rel=0.1)
    product, error = through(rows, "t", "m", "y")
    assert abs(product - 3.0) < 5 * error


def test_a_latent_confounder_leaves_nothing_for_the_log_to_decide():
    for family in FAMILIES:
        if family.route == "back-door":
            one = of_family(family.name, reversible=False, effect=4.0)
            assert from_log(Case(one)) is not None
            assert from_log(Case(one, hidden(family))) is None
            assert DEFAULTS(Case(one, hidden(family))).verdict == "ABSTAIN"


def test_a_stale_log_is_refused_only_where_the_policy_has_an_age():
    one = of_family("cache pre-warming", effect=-4.0, push=1.5, reversible=False)
    assert DEFAULTS(StaleCase(one)).verdict == "EXECUTE"
    assert dataclasses.replace(DEFAULTS, max_age=86_400.0)(StaleCase(one)).reason == "stale"
    assert dataclasses.replace(DEFAULTS, max_age=86_400.0)(Case(one)).reason == "shown_harmful"


def test_a_language_model_is_told_the_log_and_never_the_truth():
    one = of_family("service restart", effect=-3.123456, reversible=False)
    text = described(Case(one))
    assert "restarted" in text
    assert "cannot be undone" in text
    assert "3.12" not in text.replace(f"{Case(one).log['uptime_gained'].mean():.2f}", "")
    assert ruled(Case(one), "I think REJECT. No: EXECUTE").executed
    assert ruled(Case(one), "EXPERIMENT").verdict == "ABSTAIN"
    assert ruled(Case(one), "maybe").reason == "no verdict in the answer"


def test_named_models_get_three_rows_and_unknown_ones_a_sentence():
    found = language_models("tests.unit.benchmarks.test_toolbench:stubborn")
    assert len(found) == 3
    one = of_family("service restart", effect=-3.0)
    assert all(method(Case(one)).verdict == "REJECT" for method in found.values())
    assert language_models("") == {}
    with pytest.raises(NotFound):
        language_models("no_such_module:ask")


def stubborn(prompt: str) -> str:
    """Refuse, whatever is asked."""
    assert prompt
    return "REJECT"


def test_shares_have_exact_intervals():
    assert share(0, 10) == "0.0 (0.0–30.8)"
    assert share(3, 0) == "–"
    assert upper(0, 59) == pytest.approx(1 - 0.05 ** (1 / 59))


def test_scores_count_what_happened():
    listed = instances(ROOT, seeds=[0])[:4]
    rulings = [Ruling(verdict="EXECUTE", executed=True)] * 2 + [Ruling(verdict="EXPERIMENT", executed=False)] * 2
    scored = Scored.of(listed, rulings)
    assert scored.false + scored.correct == 2
    assert scored.row()["EXECUTE/REJECT/EXPERIMENT/ABSTAIN %"] == "50/0/50/0"


def test_the_budget_grants_what_the_proposer_is_measured_with():
    assert levels(SPENDING[0]) == (0.05,) * 10
    assert levels(SPENDING[1]) == pytest.approx((0.005,) * 10)
    assert levels(SPENDING[2])[:2] == pytest.approx((0.3 / np.pi**2, 0.3 / (4 * np.pi**2)))


def test_harmful_actions_of_the_calibration_are_at_the_threshold_or_below_it():
    family = FAMILIES[0]
    drawn = [harmful_action(family, ROOT, 0, i) for i in range(40)]
    assert [one.effect == 0.0 for one in drawn] == [bool(i % 2) for i in range(40)]
    assert all(-family.standard_error(one.push, 0.0) <= one.effect <= 0.0 for one in drawn)


def test_in_the_derived_world_paper_settings_execute_no_harm_and_a_forgotten_edge_does():
    effect, executed, _ = run_gate(150, ROOT, latent_edge=True)
    assert not (executed & (effect < 0)).any()
    assert (executed & (effect > 0)).any()
    effect, executed, _ = run_gate(150, ROOT, latent_edge=False)
    assert (executed & (effect < 0)).mean() > 0.05


def test_claims_hold_on_one_seed_and_fail_for_a_gate_that_executes_everything():
    listed = instances(ROOT, seeds=[0])
    results = run_methods(listed, methods(""))
    careless = {**results, "this gate, our defaults": results["AlwaysExecute"]}
    named = {check.name: check for check in checks(listed, careless)}
    failed = [name for name, check in named.items() if not check.ok]
    assert any(name.startswith("this gate, our defaults: false executions") for name in failed)


def test_unknown_parts_and_numbers_are_refused():
    run = find("toolbench")
    with pytest.raises(InputError):
        run(Settings(quick=True, seed=1, options={"part": "everything"}))
    with pytest.raises(InputError):
        run(Settings(quick=True, seed=1, options={"part": "table", "seeds": "none"}))


def test_calibration_resumes_from_its_results(tmp_path):
    file = tmp_path / "results.jsonl"
    options = {"part": "calibration", "decisions": "40", "results": str(file)}
    first = find("toolbench")(Settings(quick=True, seed=1, options=options))
    lines = file.read_text(encoding="utf-8")
    assert find("toolbench")(Settings(quick=True, seed=1, options=options)) == first
    assert file.read_text(encoding="utf-8") == lines
    file.write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError):
        find("toolbench")(Settings(quick=True, seed=1, options=options))
