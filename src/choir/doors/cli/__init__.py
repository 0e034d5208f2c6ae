"""The command line: `choir`."""
