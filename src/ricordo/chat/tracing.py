"""Spans for OpenTelemetry, where it is installed and configured: one for an answer, one for each of its steps.

In: how long the steps took and what the answer cost. Nothing that was said goes into a span.
"""

from collections.abc import Mapping
from functools import cache
from time import time_ns
from typing import Any


@cache
def _tracer() -> Any | None:
    try:
        from opentelemetry import trace as telemetry
    except ImportError:
        return None
    return telemetry.get_tracer("ricordo")


def trace(
    session_id: str, timings_ms: Mapping[str, float], known: Mapping[str, Any], tracer: Any | None = None
) -> None:
    """Tell of an answer that has just been kept, with its steps one after the other."""
    tracer = tracer or _tracer()
    if tracer is None:
        return
    from opentelemetry.trace import set_span_in_context

    ended = time_ns()
    begun = ended - sum(map(_nanoseconds, timings_ms.values()))
    span = tracer.start_span("chat", start_time=begun, attributes=_attributes(session_id, known))
    inside = set_span_in_context(span)
    at = begun
    for step, took in timings_ms.items():
        child = tracer.start_span(f"chat.{step}", context=inside, start_time=at)
        at += _nanoseconds(took)
        child.end(end_time=at)
    span.end(end_time=ended)


def _attributes(session_id: str, known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": session_id,
        "gen_ai.request.model": known["answerer"],
        "gen_ai.usage.input_tokens": known["tokens"]["prompt"],
        "gen_ai.usage.output_tokens": known["tokens"]["completion"],
        "memory.turn_number": known["turn_number"] or 0,
        "memory.degraded": bool(known["degraded"]),
    }


def _nanoseconds(milliseconds: float) -> int:
    return int(milliseconds * 1_000_000)
