"""The real Kubernetes control plane as a second cluster."""
