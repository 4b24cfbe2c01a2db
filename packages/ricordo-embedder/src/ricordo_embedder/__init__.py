"""Weights of Ricordo's English embedder: a folder for each set, read by `ricordo.recall.embedders.weights`."""
