"""The ways in: HTTP, the SDK and the command line. Each is thin: parse, authorise, call, render."""
