"""Programs that run inside the sandbox beside the tested code. They use the standard library and, for one, pytest."""
