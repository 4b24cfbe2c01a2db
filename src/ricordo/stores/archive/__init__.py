"""Cold messages, compressed without loss: blocks, their dictionary, and a plain export."""
