"""Windows in, result out: what users call."""
