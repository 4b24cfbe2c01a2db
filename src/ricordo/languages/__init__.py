"""Languages: every word table, one file a language, and what reads them."""
