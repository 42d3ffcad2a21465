"""The gate: one tool call in, one signed and recorded ruling out.

The order is fixed: strict canonical call, policy entry, context, committed graph, proof, error budget, data, verdict,
certificate, ledger on disk. Whatever fails on the way is a refusal with its reason, and is recorded like any other.
"""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from butfor.errors import ButforError, InputError
from butfor.gate.action import Action
from butfor.gate.approvals import Used, use
from butfor.gate.budget.reservation import Exhausted
from butfor.gate.case import Case, Stop
from butfor.gate.certificate.envelope import unseal
from butfor.gate.certificate.sealing import Sealer
from butfor.gate.decide import decide_by, refused
from butfor.gate.evidence import load_trial
from butfor.gate.guard import guard
from butfor.gate.ledger.chain import Ledger
from butfor.gate.material import Material, directory_of
from butfor.gate.policy.signatures import NotSigned, read_signatures
from butfor.gate.ruling import Ruling
from butfor.gate.signing.trust import operators_trust
from butfor.gate.warm import Warm

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.canonical import Json
    from butfor.gate.experiment import Request
    from butfor.gate.ledger.chain import Entry
    from butfor.gate.policy.entry import Ready
    from butfor.gate.policy.model import Mode, Policy
    from butfor.gate.signing.signatures import Signer


_P = ParamSpec("_P")
_R = TypeVar("_R")


def utc_now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


def random_id() -> str:
    """Return a new decision's id."""
    return uuid.uuid4().hex


class Gate:
    """Decides about tool calls under one policy.

    Args:
        policy: The policy.
        entries: Its entries, ready.
        policy_digest: Names the policy.
        material: Graphs, evidence and trust.
        signer: The gate's key.
        ledger: Where every decision is recorded before it is returned.
        warm: What is remembered between decisions.
        now: The clock, with a time zone.
        new_id: Makes a decision's id.
    """

    def __init__(
        self,
        *,
        policy: Policy,
        entries: tuple[Ready, ...],
        policy_digest: str,
        material: Material,
        signer: Signer,
        ledger: Ledger,
        warm: Warm,
        now: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = random_id,
    ) -> None:
        self.policy = policy
        self.entries = entries
        self.policy_digest = policy_digest
        self.material = material
        self.signer = signer
        self.ledger = ledger
        self.warm = warm
        self.now = now
        self._new_id = new_id
        self._sealer = Sealer(policy=policy, policy_digest=policy_digest, signer=signer, warm=warm)

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        signer: Signer | None = None,
        keys: Path | None = None,
        store: Path | None = None,
        trust: Path | str | None = None,
        now: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = random_id,
    ) -> Self:
        """Open the gate of a policy file.

        Args:
            path: The policy file; file names in it count from its folder.
            signer: The gate's key; by default the newest gate key of `keys`.
            keys: Where private keys are; by default BUTFOR_KEYS.
            store: The store with the ledger; by default BUTFOR_HOME, else ./.butfor.
            trust: The operator's trust file; by default BUTFOR_TRUST. Where there is one, it stands for the policy's
                own `trust`, and nothing is decided under a policy that no approver in it has signed. Policy and
                signatures are read now: what changes beside a running gate counts when it is opened again.
            now: The clock, with a time zone.
            new_id: Makes a decision's id.

        Raises:
            NotFound: There is no policy, no gate key, or no trust file where the operator says.
            InputError: The policy has a mistake, named with line and column, or the operator's trust file has one.
            StoreError: The ledger cannot be opened.
        """
        from butfor.gate.policy.entry import policy_digest, ready
        from butfor.gate.policy.reading import read_policy
        from butfor.gate.signing.keys import default_directory, signer_for

        place = Path(path)
        directory = directory_of(place)
        policy, _ = read_policy(place)
        warm, digest = Warm(), policy_digest(policy)
        signatures = read_signatures(directory / place.resolve().name, digest)
        material = Material(
            policy, directory, warm, store, operators_trust=operators_trust(trust), signatures=signatures
        )
        return cls(
            policy=policy,
            entries=() if material.refuses_policy(now) else ready(policy, directory),
            policy_digest=digest,
            material=material,
            signer=signer or signer_for(keys or default_directory(), "gate"),
            ledger=Ledger.open(store, clock=now),
            warm=warm,
            now=now,
            new_id=new_id,
        )

    def decide(self, action: Action) -> Ruling:
        """Decide about a tool call. Nothing is raised for a call that cannot be decided about: it is refused.

        When this returns EXECUTE, its certificate is signed and its ledger entry is on disk.
        """
        return self._recorded(self._considered(action))

    def certified(self, action: Action) -> bytes:
        """Return the certificate that `decide` would give, unrecorded: for a look ahead, never for a permission.

        Error budget that the question needs is spent all the same.
        """
        case = self._considered(action)
        return self._sealer.sealed(case, self._mode(case))

    async def adecide(self, action: Action) -> Ruling:
        """Decide without holding up an event loop; see `decide`."""
        return await asyncio.to_thread(self.decide, action)

    def resolve(self, request: Request, data: Path, *, agent: str = "default") -> Ruling:
        """Decide again about what a request is about, on the randomised rows of its trial.

        Trials of an entry are a lineage of their own: together they spend one error budget.

        Args:
            request: What an EXPERIMENT verdict asked for.
            data: A file with the trial's rows: treatment, outcome and the strata.
            agent: Who asks.
        """
        case = Case(id=self._new_id(), action=Action(tool=request.tool, arguments={}, agent=agent))
        return self._recorded(self._tried(case, lambda: self._prepare_trial(case, request, data)))

    def guard(self, tool: Callable[_P, _R] | None = None, *, name: str | None = None, agent: str = "default") -> Any:
        """Make a tool ask before it runs: ``@gate.guard``, or ``@gate.guard(name="restart", agent="ops")``.

        See `butfor.gate.guard`; a refusal is raised as `ActionRefused`, with the certificate.
        """
        if tool is None:
            return lambda tool: guard(self, tool, name=name, agent=agent)
        return guard(self, tool, name=name, agent=agent)

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def __enter__(self) -> Self:
        """Return the gate itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the gate."""
        self.close()

    def _considered(self, action: Action) -> Case:
        case = Case(id=self._new_id(), action=action)
        return self._tried(case, lambda: self._prepare(case))

    def _tried(self, case: Case, prepare: Callable[[], None]) -> Case:
        try:
            case.at = self.now()
            prepare()
            self._decide(case)
            case.withhold()
        except Stop as stop:
            case.decision = refused(stop.reason, *stop.missing)
        except ButforError as error:
            case.decision = refused("error", str(error))
        except Exception as error:  # noqa: BLE001  fail closed, whatever a clock, a file or an estimator does
            case.decision = refused("error", f"{type(error).__name__}: {error}")
        return case

    def _prepare_trial(self, case: Case, request: Request, data: Path) -> None:
        case.call = request.call
        if (refusal := self._policy_refusal(case)) is not None:
            raise refusal
        case.ready = next((each for each in self.entries if each.name == request.entry), None)
        if case.ready is None:
            raise Stop("unknown_tool", f"the policy has no entry {request.entry!r}, which the request is about")
        self._refuse_other_question(request)
        case.find_graph(self.material)
        assert case.at is not None
        trial = load_trial(case.ready.entry, data, name=case.ready.name, now=case.at)
        case.take_trial(request, self.material.keep(trial))

    def _refuse_other_question(self, request: Request) -> None:
        """Hold a request, which comes from a file, against the decision that made it."""
        entry = self.ledger.about("decision", request.decision)
        certificate = None if entry is None else self.ledger.attachment(entry.position)
        if certificate is None:
            raise Stop("unusable_call", f"the ledger has no decision {request.decision}, which the request names")
        action = unseal(certificate).body["action"]
        asked = (request.tool, request.call, request.to, dict(request.stratum))
        if asked != (action["tool"], action["call"], action["to"], action["stratum"]):
            raise Stop("unusable_call", f"the request asks something other than decision {request.decision} did")

    def _prepare(self, case: Case) -> None:
        """Find everything that the verdict follows from, without looking at an outcome."""
        refusal = self._policy_refusal(case)
        case.name_call()
        # Before anything of the policy is followed; the call is named, so that a bypass of it can still be found.
        if refusal is not None:
            raise refusal
        case.ready = next((each for each in self.entries if each.covers(case.action)), None)
        if case.ready is None:
            raise Stop("unknown_tool", f"no entry of the policy covers a call of {case.action.tool!r} like this")
        case.find_treatment()
        case.read_context(self.now)
        case.find_graph(self.material)
        case.find_evidence(self.material)
        case.find_answer(self.warm)

    def _policy_refusal(self, case: Case) -> Stop | None:
        """Return a refusal where the operator wants the policy signed and nobody signed it."""
        assert case.at is not None
        try:
            found = self.material.policy_signatures(case.at)
        except ButforError as error:
            return Stop("policy_not_signed", str(error))
        if isinstance(found, NotSigned):
            return Stop("policy_not_signed", found.sentence)
        if not self.entries:
            return Stop("policy_not_signed", "it was not signed when the gate was opened: open the gate again")
        case.signatures, case.policy_holds = found, True
        return None

    def _mode(self, case: Case) -> Mode:
        """Return the mode that counts: a policy that the operator does not accept cannot say that it only observes."""
        accepted = case.policy_holds or not self.material.wants_signed_policy
        return self.policy.mode if accepted else "enforce"

    def _decide(self, case: Case) -> None:
        early = case.refused_before_data()
        if early is not None:
            case.decision = early
            return
        case.reserve(self.ledger, self.warm)
        if isinstance(case.grant, Exhausted):
            case.decision = refused("budget_exhausted", case.grant.sentence)
            return
        case.examine(self.warm)
        case.decision = decide_by(case.inputs, self.warm.measured)

    def _recorded(self, case: Case) -> Ruling:
        """Sign and record; what cannot be recorded is refused."""
        try:
            return self._written(case)
        except ButforError as error:
            words = f"the decision could not be recorded: {error}"
        except Exception as error:  # noqa: BLE001  fail closed: no ledger, no EXECUTE
            words = f"the decision could not be recorded: {type(error).__name__}: {error}"
        return Ruling(
            id=case.id,
            decision=refused("error", words),
            mode=self._mode(case),
            allowed=False,
            certificate=b"",
            position=None,
        )

    def _written(self, case: Case) -> Ruling:
        mode = self._mode(case)
        certificate, position = self._certified_and_recorded(case, mode)
        decision = case.decision
        permit = self._bypass(case) if decision.verdict != "EXECUTE" and mode == "enforce" else None
        return Ruling(
            id=case.id,
            decision=decision,
            mode=mode,
            allowed=decision.verdict == "EXECUTE" or mode == "observe" or permit is not None,
            certificate=certificate,
            position=position,
            bypass=permit,
            approval=None if case.consent is None else case.consent.permit.terms.digest,
            request=case.request(),
        )

    def _certified_and_recorded(self, case: Case, mode: Mode) -> tuple[bytes, int]:
        if case.proven is None or case.call is None or self.ledger.about("approval", case.call) is None:
            certificate = self._sealer.sealed(case, mode)
            position = self._append(case, mode, certificate)
        else:
            trust = self.material.trust()
            # One transaction: an approval is used and the decision that used it is written, or neither is.
            with self.ledger.appending() as pending:
                case.ask_consent(pending, trust)
                certificate = self._sealer.sealed(case, mode)
                answered = case.first_of is not None and pending.last_of("decision", case.first_of) is not None
                position = self._add(pending.add, case, mode, certificate, first=not answered)
        case.settle(self.warm)
        return certificate, position

    def _append(self, case: Case, mode: Mode, certificate: bytes) -> int:
        try:
            return self._add(self.ledger.append, case, mode, certificate, first=True)
        except InputError:
            if case.first_of is None:
                raise
            # Another process answered the same question meanwhile; this is a repetition of it.
            return self._add(self.ledger.append, case, mode, certificate, first=False)

    def _add(self, add: Callable[..., Entry], case: Case, mode: Mode, certificate: bytes, *, first: bool) -> int:
        """Add a decision to the ledger; the first with a bound is the answer to its question."""
        decision = case.decision
        said: dict[str, Json] = {
            "verdict": decision.verdict,
            "reason": decision.reason,
            "tool": case.action.tool,
            "agent": case.action.agent,
            "call": case.call,
            "entry": None if case.ready is None else case.ready.name,
            "mode": mode,
            "lower": decision.lower,
            "bound_on": decision.bound_on,
            "alpha": decision.alpha,
        }
        # Where no bound was computed, the question is still open: asking again computes it, at the same level.
        scope = case.first_of if first and decision.measured is not None else None
        place = None if scope is None else 1
        return add("decision", said, subject=case.id, scope=scope, place=place, attachment=certificate).position

    def _bypass(self, case: Case) -> str | None:
        """Use a bypass of this exact call, where an approver granted one; using it is written down first."""
        if case.call is None or self.ledger.about("bypass", case.call) is None:
            return None
        try:
            found = use(self.ledger, "bypass", case.call, agent=case.action.agent, trust=self.material.trust())
        except ButforError:
            return None
        return found.permit.terms.digest if isinstance(found, Used) else None
