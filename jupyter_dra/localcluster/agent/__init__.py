"""The process kubelet: nodes whose pods are local processes. It meets the cluster through its API only."""
