"""Measurements of speed, accuracy and searches; ``python -m benchmarks`` lists them."""
