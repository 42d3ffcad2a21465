"""The agent's two tools, each of which asks the gate before it touches the cluster."""

import subprocess
import sys
from pathlib import Path

from butfor import Gate
from butfor.errors import ActionRefused

gate = Gate.open(Path(__file__).parent / "gate.yaml")


@gate.guard(agent="ops-agent")
def restart_service(service: str) -> str:
    """Restart a service."""
    return kubectl("rollout", "restart", f"deployment/{service}")


@gate.guard(agent="ops-agent")
def drain_node(node: str) -> str:
    """Take everything off a node."""
    return kubectl("drain", node)


def kubectl(*words: str) -> str:
    """Run kubectl."""
    return subprocess.run(["kubectl", *words], check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Do what an agent might: restart each service, and drain a node."""
    for tool, argument in [
        (restart_service, "web"),
        (restart_service, "orders-db"),
        (restart_service, "nightly-report"),
        (drain_node, "node-7"),
    ]:
        try:
            print(f"{argument}: {tool(argument)}")
        except ActionRefused as refusal:
            print(f"{argument}: {refusal.verdict} ({refusal.reason}), certificate of {len(refusal.certificate)} bytes")


if __name__ == "__main__":
    with gate:
        sys.exit(main())
