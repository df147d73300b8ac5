"""Search methods that evaluate one policy after another."""
