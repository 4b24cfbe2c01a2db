"""Forms with one file in them: read within bounds, closed in any case."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from ricordo.errors import ValidationError

FIELDS = 8


@asynccontextmanager
async def uploaded(request: Request) -> AsyncIterator[tuple[UploadFile, FormData]]:
    """The file in the field `file`, and the form around it."""
    try:
        form = await request.form(max_files=1, max_fields=FIELDS)
    except HTTPException as error:
        if error.status_code != 400:
            raise
        raise ValidationError("file", f"the form cannot be read: {error.detail}") from error
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise ValidationError("file", "send the file in a form field named 'file'")
        yield file, form
    finally:
        await form.close()
