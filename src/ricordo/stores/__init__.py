"""The stores: in memory (the reference), one SQLite file, PostgreSQL. All pass one contract suite."""
