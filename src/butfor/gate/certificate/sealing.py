"""From a case to its certificate file: what the gate found, written and signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.gate.certificate.body import Head, body, of_the_call, of_the_question
from butfor.gate.certificate.envelope import Piece, seal, written

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.gate.case import Case
    from butfor.gate.policy.model import Policy
    from butfor.gate.signing.signatures import Signer
    from butfor.gate.warm import Warm


class Sealer:
    """Writes certificates of one policy.

    Args:
        policy: The policy.
        policy_digest: Names the policy.
        signer: The gate's key.
        warm: Where the parts are kept that are the same whenever the same is asked.
    """

    def __init__(self, *, policy: Policy, policy_digest: str, signer: Signer, warm: Warm) -> None:
        self._policy = policy
        self._policy_digest = policy_digest
        self._signer = signer
        self._warm = warm

    def sealed(self, case: Case, mode: str) -> bytes:
        """Return the bytes of a case's certificate file.

        Args:
            case: A decided case.
            mode: observe or enforce, as it was decided.
        """
        decision, inputs = case.decision, case.inputs_or_none
        if inputs is None or decision.measured is None:
            return seal(body(self._head(case, mode, whole=True), decision, inputs), self._signer)
        assert case.commitment is not None
        assert case.ready is not None
        # The entry too: two tools may ask the same of the same evidence by the same rules.
        decided = (decision.reason, case.commitment, case.level, mode, case.ready.digest, case.signatures)

        def write() -> dict[str, Piece]:
            fields = of_the_question(self._head(case, mode, whole=True), decision, inputs)
            return {name: written(value) for name, value in fields.items()}

        pieces = self._warm.pieces(inputs, decided, write)
        said = of_the_call(self._head(case, mode, whole=False), decision, inputs)
        return seal(said, self._signer, pieces=pieces)

    def _head(self, case: Case, mode: str, *, whole: bool) -> Head:
        """Return what the certificate says beside the decision; without the parts of the question unless whole."""
        return Head(
            id=case.id,
            at=case.stamp,
            mode=mode,
            agent=case.action.agent,
            tool=case.action.tool,
            call=case.call,
            context=case.context_document(),
            policy=self._policy_document(case) if whole else {},
            commitment=case.commitment.to_json() if whole and case.commitment is not None else None,
            evidence=case.evidence_document() if whole else None,
            budget=case.budget_document() if whole else None,
            approval=case.approval_document(),
        )

    def _policy_document(self, case: Case) -> dict[str, Json]:
        ready = case.ready
        found: dict[str, Json] = {
            "digest": self._policy_digest,
            "preset": self._policy.preset,
            "name": None if ready is None else ready.name,
            "entry": None if ready is None else ready.document,
        }
        if case.signatures:
            found["signatures"] = [each.to_json() for each in case.signatures]
        return found
