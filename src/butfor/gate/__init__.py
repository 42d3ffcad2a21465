"""May this tool call run? Four verdicts, each with a certificate."""
