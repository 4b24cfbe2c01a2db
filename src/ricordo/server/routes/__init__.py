"""The routes, one module and router for each part of the API."""
