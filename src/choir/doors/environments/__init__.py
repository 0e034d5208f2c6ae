"""Environments: building one on this machine, and the layers that a node keeps."""
