"""The SDK: the same client that the command line uses. Import it as `choir.sdk`."""
