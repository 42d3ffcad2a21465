"""The fresh process of `record`: replays a journal given on standard input, prints where it differs."""

from __future__ import annotations

import json
import sys

from butfor import canonical
from butfor.errors import AgentError
from butfor.replay.agents import find_agent
from butfor.replay.journal import Journal, footer_line
from butfor.replay.record import untouched_differences


def main() -> None:
    """Read a journal, replay it three times, print the differences as JSON on the last line."""
    document = canonical.decode(sys.stdin.read())
    lines = [*document["lines"], footer_line(document["footer"])]
    journal = Journal.read(document["header"], lines, where=f"run {document['run']}")
    try:
        differences = untouched_differences(journal, find_agent(document["agent"]))
    except AgentError as error:
        differences = [str(error)]
    sys.stdout.write("\n" + json.dumps({"differences": differences}) + "\n")


if __name__ == "__main__":
    main()
