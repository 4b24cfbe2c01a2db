"""Where turns live: in memory (the reference), in one SQLite file, or in PostgreSQL. One contract for all."""
