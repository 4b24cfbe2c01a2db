"""The queue of work after a turn: in the process (`queue`), and as jobs in the database of a server (`jobs`)."""
