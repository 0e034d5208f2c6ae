"""Sampling: reviews with planted defects, which the platform pays."""
