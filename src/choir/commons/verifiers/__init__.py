"""Verifiers: does an extract exist, and does it say what a claim says?"""
