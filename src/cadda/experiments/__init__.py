"""The studies of the paper, one module each: settings, jobs, table and figure."""
