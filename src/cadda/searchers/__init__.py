"""Search methods, and what runs them."""
