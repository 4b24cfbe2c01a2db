"""The web page: built files that come with the package, served as they are."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent.parent / "web"


class Assets(StaticFiles):
    """Files whose names change with their content: a browser may keep them for ever."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, to be kept."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def mount(app: FastAPI) -> None:
    """Serve the page at `/`, if it was built."""
    index = FOLDER / "index.html"
    if not index.exists():
        return

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(index, headers={"Cache-Control": "no-cache"})

    app.mount("/assets", Assets(directory=FOLDER / "assets"), name="assets")
