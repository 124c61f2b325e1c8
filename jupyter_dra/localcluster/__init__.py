"""The local cluster: a small Kubernetes API with devices, whose pods are processes of this machine.

The rest of the product meets it over HTTP only, and starts it through ``lifecycle``.
"""
