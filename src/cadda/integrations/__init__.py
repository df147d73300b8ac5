"""Parts for other libraries, which are not imported: they are handed to them."""
