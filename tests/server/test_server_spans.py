"""Memory spans of a request: the server calls the methods that `ricordo.contrib.opentelemetry` traces."""

from fastapi.testclient import TestClient
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ricordo.contrib.opentelemetry import instrument, uninstrument
from ricordo.presets import settings_from
from ricordo.server.app import create_app
from ricordo.server.options import ServerOptions
from ricordo.server.service import Service
from ricordo.testing import MemoryStore


def test_a_request_to_the_server_has_memory_spans() -> None:
    """A chat over HTTP keeps the question, finds what is known, and keeps the answer; no span holds a word of it."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    service = Service(MemoryStore(), settings_from({"embedder": "light"}, {}), ServerOptions(auth=False))
    instrument(tracer_provider=provider)
    try:
        with TestClient(create_app(service), base_url="http://127.0.0.1") as client:
            told = client.post("/chat", json={"query": "My cat is called Moon.", "user_id": "anna"})
            assert told.status_code == 200
    finally:
        uninstrument()
    spans = exporter.get_finished_spans()
    assert {"create_memory", "search_memory", "update_memory"} <= {span.name for span in spans}
    talks = {(span.attributes or {}).get("gen_ai.conversation.id") for span in spans}
    assert talks == {told.json()["session_id"]}
    assert not any("Moon" in str(value) for span in spans for value in (span.attributes or {}).values())
    provider.shutdown()
