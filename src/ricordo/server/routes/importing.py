"""Importing: a file of conversations comes in, with its progress told as it goes."""

import tempfile
from pathlib import Path
from typing import IO, Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from ricordo.server.asking import Asking, Person
from ricordo.server.bringing import Bringing, Progress
from ricordo.server.forms import uploaded
from ricordo.server.problems import told_of
from ricordo.server.shapes.material import ImportOut
from ricordo.server.sse import SHOWN, STREAM, streamed
from ricordo.server.streams import Answer
from ricordo.verbs.ids import new_id

router = APIRouter(tags=["import"])

_FILE = {"type": "string", "format": "binary"}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {"schema": {"type": "string"}},
            "application/json": {"schema": {}},
            "multipart/form-data": {
                "schema": {"type": "object", "required": ["file"], "properties": {"file": _FILE}},
            },
        },
    }
}


@router.post("/import", response_model=ImportOut, responses=SHOWN, openapi_extra=_BODY)
async def bring(
    request: Request,
    person: Asking,
    format: Annotated[str, Query(min_length=1, max_length=64)] = "auto",  # noqa: A002 - the public name
    dry_run: bool = False,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Any:
    """Bring conversations in: a form with a `file`, or the file itself as the body. Sent twice, it is brought in once.

    They become those of the user that the credential is bound to or that is named, else of the users they name. When
    server-sent events are asked for, `progress` tells how far it has come, and `done` what came of it.
    """
    path, name = await _received(request)
    bringing = Bringing(path, name, format, person.named_user, dry_run)
    if STREAM not in accept:
        try:
            return await run_in_threadpool(_run, person, bringing, lambda far: None)
        finally:
            path.unlink(missing_ok=True)
    answer = Answer(person.owner, new_id(person.memory.clock.now()))

    def work() -> None:
        try:
            result = _run(person, bringing, lambda far: answer.add("progress", dict(far)))
            answer.add("done", result)
        except Exception as error:
            answer.add("error", told_of(error))
        finally:
            path.unlink(missing_ok=True)
            answer.finish()

    person.service.spawn(work)
    response: Response = streamed(answer)
    return response


def _run(person: Person, bringing: Bringing, progress: Progress) -> dict[str, Any]:
    return bringing.run(person.memory, progress)


async def _received(request: Request) -> tuple[Path, str]:
    """The file that was sent, on disk, readable by nobody else; and what its sender called it."""
    name = ""
    with tempfile.NamedTemporaryFile(prefix="ricordo-import-", delete=False) as target:
        path = Path(target.name)
        try:
            if request.headers.get("content-type", "").startswith("multipart/form-data"):
                name = await _copy_form(request, target)
            else:
                async for part in request.stream():
                    target.write(part)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return path, name


async def _copy_form(request: Request, target: IO[bytes]) -> str:
    async with uploaded(request) as (file, _):
        while part := await file.read(1024 * 1024):
            target.write(part)
        return file.filename or ""
