"""Account keys that the node keeps."""
