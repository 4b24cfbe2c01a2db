"""The HTTP face: `create_app` makes the application that `ricordo serve` runs. Needs the extra `server`."""

from ricordo.server.options import ServerOptions

__all__ = ["ServerOptions"]
