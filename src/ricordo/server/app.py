"""The application: routes, guards and the page, around one `Service`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import to_thread
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

import ricordo
from ricordo.server import page
from ricordo.server.guard import Guard, Tagged
from ricordo.server.models import Problem
from ricordo.server.problems import MEDIA_TYPE, add_problems
from ricordo.server.routes import care, chat, documents, openai, person, sessions, topics
from ricordo.server.scheduler import Scheduler
from ricordo.server.service import Service

DESCRIPTION = "Conversational memory: keeps every turn, understands follow-ups, knows a person, explains every prompt."
_ERRORS = {
    status: {"model": Problem, "content": {MEDIA_TYPE: {}}, "description": words}
    for status, words in {
        401: "No valid credential",
        403: "The credential does not reach this far",
        404: "There is no such thing for this user",
        409: "In conflict with what is there",
        413: "Too large",
        422: "The input was refused",
        429: "Too many requests",
        503: "The database is away",
    }.items()
}


def create_app(service: Service) -> FastAPI:
    """The whole application. It closes the service when it ends."""

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = service.options.threads
        scheduler = Scheduler(service)
        scheduler.start()
        try:
            yield
        finally:
            await to_thread.run_sync(scheduler.close)
            await to_thread.run_sync(service.close)

    app = FastAPI(
        title="Ricordo",
        version=ricordo.__version__,
        description=DESCRIPTION,
        lifespan=running,
        responses=_ERRORS,  # type: ignore[arg-type]
    )
    app.state.service = service
    add_problems(app)
    for routes in (chat, sessions, topics, person, documents, care, openai):
        app.include_router(routes.router)
    page.mount(app)
    app.add_middleware(Tagged)
    if service.options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(service.options.cors_origins),
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["ETag", "X-Request-Id", "X-Ricordo-Degraded"],
        )
    app.add_middleware(Guard, service=service)
    return app
