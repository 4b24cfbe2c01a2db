"""Benchmarks of Ricordo beside what one would write or install instead, as ratios in one run."""
