"""`butfor gate resolve`: decide again on the rows of the trial that an EXPERIMENT verdict asked for."""

from __future__ import annotations

from pathlib import Path

import click

from butfor.cli.gate_decide import policy_option, tell, trust_option
from butfor.cli.options import about
from butfor.errors import InputError

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    "resolve",
    epilog="Exit codes: 0 the call may run; 10 REJECT; 11 EXPERIMENT; 12 ABSTAIN; 2 unusable input.",
)
@click.argument("request", type=_FILE)
@click.option("--data", type=_FILE, required=True, help="the randomised rows: CSV, TSV, JSON Lines or Parquet")
@policy_option
@trust_option
@click.option("--agent", default="default", show_default=True, help="who asks")
@click.option("--out", type=_FILE, help="write the certificate here")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def command(
    request: Path, data: Path, policy: Path, trust: Path | None, agent: str, out: Path | None, as_json: bool
) -> int:
    """Decide again on randomised rows. REQUEST is what `butfor gate decide --request FILE` wrote."""
    from butfor.gate import Gate
    from butfor.gate.experiment import Request

    try:
        with about(request):
            asked = Request.read(request.read_bytes())
    except OSError as error:
        raise InputError(f"the request cannot be read ({error.strerror})", where=str(request)) from None
    with Gate.open(policy, trust=trust) as gate:
        ruling = gate.resolve(asked, data, agent=agent)
    return tell(ruling, out=out, request=None, as_json=as_json)
