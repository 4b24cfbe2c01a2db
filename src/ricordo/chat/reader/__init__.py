"""The reader: an answerer without a model. Pure: a question and chunks go in, cited sentences come out."""
