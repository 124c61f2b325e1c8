"""Measurements beside Kubernetes itself and beside others: ``python -m tests.controlplane.bench``."""
