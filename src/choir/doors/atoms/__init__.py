"""Atoms: claims, bindings, omissions, hypertheses, conjectures and the others, with their states."""
