"""The bytes of archive blocks and stored receipts: their layout, compression and checksums."""
