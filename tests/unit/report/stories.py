"""Runs and findings of any length, hostile ones included, for the tests of the report."""

from collections.abc import Iterable

from butfor.attribution import AnswerKind, Bill, Margins, Profile, Role, StepProfile
from butfor.attribution.responsibility_result import Responsibility, StepResponsibility
from butfor.attribution.shapley_result import Shapley, StepShapley
from butfor.canonical import Json
from butfor.confidence import Estimate, Interval, Undefined
from butfor.report import ReportData, Reproduction
from butfor.report.commands import commands_of
from butfor.report.findings import Finding, read_finding
from butfor.report.notes import notes_of
from butfor.report.scores import read_responsibility, read_shapley
from butfor.runs import Grade, Observation, Outcome, RequestChain, Run, Step, Text, ToolCall, Usage, Value

HOSTILE = (
    "</pre></script><script>document.title='owned'</script><img src=http://evil.test/x onerror=alert(1)>"
    "<svg onload=alert(2)>&lt;b&gt; {{ 7*7 }} {% raw %} \x1b[31mred\x1b[0m \x07 \u202eright to left\u202c "
    "\ud800 \x00 \"'` ]]> --> [bold red]markup[/] :smile: \u200bhidden\U000e0041"
)


def run_of(count: int, *, said: str = "look up order {k}", hostile: str = "", grade: Grade | None = None) -> Run:
    """A chat of `count` steps with one tool call each; `hostile` stands in every place that a trace can fill."""
    chain = RequestChain()
    messages: list[Json] = [
        {"role": "system", "content": f"Be helpful. {hostile}"},
        {"role": "user", "content": f"Please help. {hostile}"},
    ]
    steps = []
    for k in range(count):
        request = {"model": f"m{hostile}", "messages": list(messages), "temperature": 1.0, "tools": [_tool(hostile)]}
        arguments = {"query": said.format(k=k) + hostile}
        answer = f"result {k} {hostile}"
        steps.append(
            Step(
                index=k,
                agent=f"agent{hostile}" if hostile else "agent",
                request=chain.add(request),
                parts=(
                    Text(content=Value.of(f"I will. {hostile}")),
                    ToolCall(call_id=f"c{k}", name=f"search{hostile}", arguments=Value.of(arguments)),
                    Observation(
                        call_id=f"c{k}",
                        content=Value.of(answer),
                        extra=Value.of({"answered": "live", "tool": f"search{hostile}"}),
                    ),
                ),
                usage=Usage(prompt_tokens=10 * k + 5, completion_tokens=7),
                grade=Grade(missing=(f"seed: {hostile}",)) if hostile else Grade(),
            )
        )
        call = {"id": f"c{k}", "type": "function", "function": {"name": "search", "arguments": str(arguments)}}
        messages = [
            *messages,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{k}", "content": answer},
        ]
    return Run(
        run_id=f"run-1{hostile}",
        task=Value.of({"question": f"help {hostile}"}),
        steps=tuple(steps),
        output=Value.of(f"done {hostile}"),
        outcome=Outcome(value=1.0, rule=f'tool_called("refund"){hostile}'),
        grade=grade or Grade(),
    )


def _tool(hostile: str) -> Json:
    return {"type": "function", "function": {"name": f"search{hostile}", "parameters": {"type": "object"}}}


def between(point: float, lower: float, upper: float) -> Estimate:
    """An estimate as Clopper–Pearson gives it."""
    assumptions = ("the draws are independent with one mean",)
    return Estimate(
        point=point, lower=lower, upper=upper, alpha=0.05, n=64, method="Clopper–Pearson", assumptions=assumptions
    )


def profile_of(count: int, *, decisive: int, reason: str = "") -> Profile:
    """A profile in which one step decides and all later ones are mechanical; with a reason, step 0 is undefined."""
    steps = []
    for k in range(count):
        before = k <= decisive
        v: Interval = between(0.2, 0.1, 0.35) if before else between(1.0, 0.94, 1.0)
        effect: Interval = between(0.8, 0.65, 0.9) if before else between(0.0, 0.0, 0.06)
        blame: Interval = between(0.8, 0.55, 0.9) if k == decisive else between(0.0, -0.25, 0.25)
        role = Role.DECISIVE if k == decisive else Role.NO_EFFECT if before else Role.MECHANICAL
        if reason and k == 0:
            v = effect = blame = Undefined(reason=reason)
            role = Role.NOT_REPLAYABLE
        steps.append(
            StepProfile(
                step=k, role=role, v=v, effect=effect, blame=blame, match=between(0.9, 0.8, 0.96),
                in_set=k == decisive, n=64, missing=3 if k == 0 else 0, unsupported=2 if k == 0 else 0, reused=k,
            )
        )  # fmt: skip
    return Profile(
        kind=AnswerKind.DECISIVE,
        sentence=f"Step {decisive} is the decisive step (95% confidence).",
        factual=Estimate(point=1.0, lower=1.0, upper=1.0, alpha=0.0, n=1, method="recorded"),
        steps=tuple(steps),
        candidates=(decisive,),
        leading=decisive,
        tied=(decisive,),
        commit_points=(decisive,),
        margins=Margins(),
        rollouts=64 * count,
        policy_calls=100 * count,
        unsupported={"refund": 2},
        complete=True,
    )


def bill_of(count: int) -> Bill:
    """What that profile cost."""
    return Bill(
        rollouts=64 * count, found=16, policy_calls=100 * count, prompt_tokens=12_345, completion_tokens=678,
        money=None, seconds=4.25, tool_calls={"simulated": 7, "recorded": 90, "live": 1, "unsupported": 2},
        statuses={"completed": 64 * count - 2, "unsupported": 2},
    )  # fmt: skip


def data_of(count: int, *, decisive: int = 1, hostile: str = "", grade: Grade | None = None) -> ReportData:
    """A whole report."""
    run = run_of(count, hostile=hostile, grade=grade)
    finding = read_finding(profile_of(count, decisive=decisive, reason=hostile).to_json())
    told = [f"the outcome changed {hostile}"] if hostile else []
    return ReportData(
        run=run,
        finding=finding,
        result_id="result-1",
        bill=bill_of(count),
        notes=notes_of(run, finding, bill_of(count), told=told, stopped=None),
        assumptions=unique(each for estimate in finding.estimates() for each in estimate.assumptions),
        methods=unique(each.method for each in finding.estimates()),
        reproduction=Reproduction(commands=commands_of(run), facts={"fingerprint of the draws": f"f{hostile}"}),
    )


def shapley_of(*, simultaneous: bool = True) -> Shapley:
    """Two steps that are both needed, and one that does nothing."""
    shares = [between(0.45, 0.4, 0.5), between(0.46, 0.41, 0.51), between(0.0, -0.05, 0.05)]
    return Shapley(
        estimator="pooled coalition means",
        steps=tuple(StepShapley(step=k, value=value) for k, value in enumerate(shares)),
        efficiency=between(0.91, 0.85, 0.97) if simultaneous else Undefined(reason="not apart"),
        total=0.91, alpha=0.05, simultaneous=simultaneous, rollouts=512, policy_calls=800, missing=0, complete=True,
    )  # fmt: skip


def shapley_data(*, hostile: str = "", simultaneous: bool = True, beside: Finding | None = None) -> ReportData:
    """A report of Shapley values."""
    answer = shapley_of(simultaneous=simultaneous).to_json()
    return ReportData(
        run=run_of(3, hostile=hostile),
        scores=read_shapley(answer, method="shapley", beside=beside),
        result_id="result-2",
        bill=bill_of(3),
        reproduction=Reproduction(commands=("butfor attribute run-1 --method shapley",)),
    )


def crs_data(*, hostile: str = "") -> ReportData:
    """A report of responsibility: step 0 by luck, step 1 for certain, step 2 undrawn."""
    answer = Responsibility(
        steps=(
            StepResponsibility(step=0, published=1.0, best=1, lift=between(0.02, -0.3, 0.3)),
            StepResponsibility(step=1, published=1.0, best=0, lift=between(0.6, 0.3, 0.8)),
            StepResponsibility(step=2, published=None, best=None, lift=Undefined(reason="not drawn")),
        ),
        alpha=0.05, rollouts=400, policy_calls=700,
    )  # fmt: skip
    proposals = {"0": ["a", "ask" + hostile], "1": [{"tool_calls": [{"name": "check"}]}]}
    return ReportData(
        run=run_of(4, hostile=hostile),
        scores=read_responsibility(answer.to_json(), proposals=proposals),
        result_id="result-3",
        bill=bill_of(4),
    )


def withheld(finding: Finding, *, candidates: tuple[int, ...], points: tuple[int | None, ...]) -> Finding:
    """The same finding, had the budget been too small."""
    document = finding.to_json() | {
        "kind": "withheld",
        "sentence": "Withheld: the budget is too small; the decisive step lies between steps "
        f"{candidates[0]} and {candidates[-1]}.",
        "candidates": list(candidates),
        "commit_points": list(points),
    }
    for step in document["steps"]:
        step["in_set"] = step["step"] in candidates
        step["role"] = "inconclusive"
    return read_finding(document)


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(items))
