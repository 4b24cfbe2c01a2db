"""How the tests run: laws are tried at least a hundred times, always with the same examples, without a clock."""

import logging
import os

from hypothesis import settings

from ricordo import remembering
from ricordo.embedders import choose

settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, database=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Tests that are not about an embedder take the one that needs no weights, whether they read the environment or not.
os.environ.setdefault("RICORDO_EMBEDDER", "light")
remembering._choices["auto"] = choose("light")

pytest_plugins = ["ricordo.testing.postgres_fixtures"]


def pytest_sessionfinish() -> None:
    """What is still at work beside a chat has nothing to say after the last test."""
    logging.getLogger("ricordo").addHandler(logging.NullHandler())
