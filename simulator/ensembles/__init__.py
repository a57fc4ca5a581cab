"""Many runs at once, with failures as rows: see `ensemble.ensemble`."""
