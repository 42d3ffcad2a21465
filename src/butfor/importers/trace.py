"""The spans of one trace: each once, in order, with the agent and the lane that each belongs to."""

from __future__ import annotations

from butfor.importers.spans import Kind, Span
from butfor.importers.tally import Ignored
from butfor.runs import Agent


class Trace:
    """The spans of a trace, each once, in the order of recorded completion, with their agents and lanes."""

    def __init__(self, spans: list[Span]) -> None:
        self.ignored = Ignored()
        by_id: dict[str, Span] = {}
        for span in spans:
            known = by_id.get(span.span_id)
            if known is not None:
                self.ignored.add("repeated span")
            if known is None or span.clock > known.clock:
                by_id[span.span_id] = span
        self.by_id = by_id
        self.spans = sorted(by_id.values(), key=lambda span: (span.clock, span.span_id))
        self._placed: dict[str, tuple[str, str]] = {}
        self._judged: set[str] = set()
        self._children: dict[str, int] = {}
        self._parents: dict[str, str | None] = {}
        self._place_agents()
        wrapped = self._wrappers()
        self.roots = [span for span in self.spans if span.parent_id not in by_id and span.span_id not in self._judged]
        acting = [span for span in self.spans if span.span_id not in self._judged]
        self.models = [span for span in acting if span.kind is Kind.MODEL and span.span_id not in wrapped]
        self.tools = [span for span in acting if span.kind is Kind.TOOL]
        judging = sum(span.kind in (Kind.MODEL, Kind.TOOL) for span in self.spans) - sum(
            span.kind in (Kind.MODEL, Kind.TOOL) for span in acting
        )
        if judging:
            self.ignored.add("model or tool call of an evaluator", judging)
        if wrapped:
            self.ignored.add("model span around another model span", len(wrapped))

    def place(self, span: Span) -> tuple[str, str]:
        """Return (agent, lane) of a span."""
        agent, lane = self._placed[span.span_id]
        return (span.agent if span.agent and span.kind is not Kind.TOOL else agent), lane

    def agents(self) -> tuple[Agent, ...]:
        """Return the agents that decided something."""
        models: dict[str, str | None] = {}
        for span in self.models or self.tools:
            name = self.place(span)[0]
            models[name] = models.get(name) or span.sampling.model
        return tuple(
            Agent(name=name, model=model, parent=self._parents.get(name) if name in self._parents else None)
            for name, model in models.items()
        )

    def _place_agents(self) -> None:
        """Give every span its agent and lane from its nearest agent span, without recursion: chains can be long."""
        for span in sorted(self.spans, key=lambda each: (each.clock[1], each.span_id)):
            path: list[Span] = []
            here: Span | None = span
            while here is not None and here.span_id not in self._placed:
                path.append(here)
                self._placed[here.span_id] = ("agent", "0")  # stands while a cycle of parents would come back here
                here = self.by_id.get(here.parent_id) if here.parent_id else None
            above = self._placed[here.span_id] if here is not None else ("agent", "0")
            judged = here is not None and here.span_id in self._judged
            for each in reversed(path):
                above = self._below(each, above)
                self._placed[each.span_id] = above
                judged = judged or each.kind is Kind.JUDGE
                if judged:
                    self._judged.add(each.span_id)

    def _below(self, span: Span, above: tuple[str, str]) -> tuple[str, str]:
        if span.kind is not Kind.AGENT or span.agent is None or span.agent == above[0]:
            return above
        nested = above[0] != "agent"
        self._parents.setdefault(span.agent, above[0] if nested else None)
        if not nested:
            return span.agent, above[1]
        self._children[above[1]] = self._children.get(above[1], 0) + 1
        return span.agent, f"{above[1]}.{self._children[above[1]]}"

    def _wrappers(self) -> set[str]:
        """Return model spans with a model span below: two instrumentations saw the same call."""
        found: set[str] = set()
        for span in self.spans:
            if span.kind is not Kind.MODEL:
                continue
            visited = {span.span_id}
            parent = self.by_id.get(span.parent_id or "")
            while parent is not None and parent.span_id not in visited and parent.kind in (Kind.MODEL, Kind.OTHER):
                visited.add(parent.span_id)
                if parent.kind is Kind.MODEL:
                    found.add(parent.span_id)
                    break
                parent = self.by_id.get(parent.parent_id or "")
        return found
