"""The object store: atoms and blobs, named by the hash of their bytes."""
