"""Session life: launch, steps, waiting, leases, sharing, ending; `ports` is what surfaces call."""
