"""The controllers that pods with devices need: claims, device taints, node lifecycle, pod garbage."""
