"""Given the same operations, the stores give the same answers."""

import tempfile
from pathlib import Path

from hypothesis import settings

from ricordo.stores.memory import MemoryStore
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.machine import stores_agree
from ricordo.testing.machine_service import services_agree

folder = tempfile.TemporaryDirectory(prefix="ricordo-agreement-")

TestMemoryAndSqliteAgree = stores_agree(lambda: [MemoryStore(), SqliteStore(Path(folder.name) / "memory.db")]).TestCase
TestMemoryAndSqliteAgree.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)

TestServicesAgree = services_agree(lambda: [MemoryStore(), SqliteStore(Path(folder.name) / "service.db")]).TestCase
TestServicesAgree.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
