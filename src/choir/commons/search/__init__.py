"""Search: finding promoted articles, and saying why each stands where it stands."""
