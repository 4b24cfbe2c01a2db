"""The HTTP server: `app.create_app` builds the application that `ricordo serve` runs. Needs the extra `server`."""

from ricordo.server.options import ServerOptions

__all__ = ["ServerOptions"]
