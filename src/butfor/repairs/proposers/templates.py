"""What a model is asked when it is to correct a step. Each template has an id, which is kept with the proposal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Template:
    """A prompt.

    Attributes:
        template_id: Name and version; a changed text is a new version.
        text: With the places {task}, {history}, {action}, {tools}, {problem}.
    """

    template_id: str
    text: str


_FORM = """\
Answer with the replacement alone. A tool call is written as {{"tool": "name", "arguments": {{…}}}} on one line, several
calls as a JSON list of those; anything else is taken as the words that the agent says."""

CORRECT = Template(
    template_id="correct/1",
    text=f"""\
An agent worked on a task and failed. One of its decisions is to be replaced, as little changed as possible, so that
the rest of the run succeeds.

Task:
{{task}}

What the agent had seen when it decided:
{{history}}

Tools that it could call:
{{tools}}

What it decided:
{{action}}

What is known about the failure: {{problem}}

{_FORM}""",
)

RETHINK = Template(
    template_id="rethink/1",
    text=f"""\
You are reviewing one decision of an agent whose run failed. First find what is wrong with the decision, silently. Then
write the decision that should stand in its place.

Task:
{{task}}

State:
{{history}}

Tools:
{{tools}}

Decision:
{{action}}

About the failure: {{problem}}

{_FORM}""",
)

TEMPLATES = {each.template_id: each for each in (CORRECT, RETHINK)}
