"""What a verification is given."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.gate.signing.trust import moment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from butfor.canonical import Json
    from butfor.estimation.columns import Columns
    from butfor.gate.certificate.envelope import Sealed
    from butfor.gate.ledger.segment import Segment
    from butfor.gate.policy.model import Policy
    from butfor.gate.signing.trust import TrustFile


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """What the caller brings beside the certificate. Nothing of it is in the certificate.

    Attributes:
        trust: Whose signatures count; None: nobody's.
        rows: The rows of the evidence, where they are at hand.
        no_rows: Why there are none, in words.
        call: The tool call as bytes, where it is at hand.
        policy: The policy, where it is at hand.
        segment: The ledger from the decision on, where it is at hand.
        original: The certificate as somebody else kept it, to name what was changed.
        demand_signed_policy: Whether a policy that nobody signed is a failure.
    """

    trust: TrustFile | None = None
    rows: Columns | None = None
    no_rows: str = "give --evidence, or a bundle"
    call: bytes | None = None
    policy: Policy | None = None
    segment: Segment | None = None
    original: bytes | None = None
    demand_signed_policy: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """A certificate that could be read, and what came with it.

    Attributes:
        data: The file.
        sealed: Its parts.
        given: What the caller brings.
    """

    data: bytes
    sealed: Sealed
    given: Given

    @property
    def body(self) -> Mapping[str, Json]:
        """What the gate says."""
        return self.sealed.body

    @property
    def at(self) -> datetime:
        """When the certificate says that the decision was made.

        Raises:
            InputError: It says no time.
        """
        return moment(self.body["decision"]["at"], "$.body.decision.at")
