"""Speaking to a Kubernetes API server: configuration, client, watches, port-forward, rights."""
