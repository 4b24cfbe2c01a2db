"""The reader: an answerer that needs no model. Pure: a question and passages in, cited sentences out."""
