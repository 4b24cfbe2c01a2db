"""Cold messages, compressed without loss: blocks, their dictionary, and a plain export."""

from ricordo.archive.block import BlockInfo, DamagedBlock, inspect, pack, unpack
from ricordo.archive.export import export_messages, import_messages

__all__ = ["BlockInfo", "DamagedBlock", "export_messages", "import_messages", "inspect", "pack", "unpack"]
