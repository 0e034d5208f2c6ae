#!/usr/bin/env bash
# Sees to it that the deep tests have a Go toolchain: Debian's. `make run` and `make test` need none.
# Idempotent: where it is, it does nothing and needs no network.
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }

[ -x /usr/bin/go ] && exit 0  # where the sandbox sees it
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
  say "installing Debian's golang-go for the deep tests"
  apt-get update -qq || true
  if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends golang-go >/dev/null; then
    exit 0
  fi
fi
say "golang-go not found and not installable here: deep tests in Go will not run, all else will. Run: sudo apt-get install golang-go"
