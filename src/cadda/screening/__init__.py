"""Effects of single operations, class by class."""
