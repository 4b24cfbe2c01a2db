"""Cold messages, compressed without loss: blocks, their dictionary, and a plain export."""

from ricordo.stores.archive.block import BlockInfo, DamagedBlock, inspect, pack, unpack
from ricordo.stores.archive.export import export_messages, import_messages

__all__ = ["BlockInfo", "DamagedBlock", "export_messages", "import_messages", "inspect", "pack", "unpack"]
