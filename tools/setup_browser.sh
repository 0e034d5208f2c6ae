#!/usr/bin/env bash
# Sees to it that the browser tests have a browser: Debian's Chromium. `make run` needs none.
# Idempotent: where Chromium is, it does nothing and needs no network.
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }

if command -v chromium >/dev/null 2>&1; then
  exit 0
fi
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
  say "installing Debian's chromium for the browser tests"
  apt-get update -qq || true
  if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; then
    exit 0
  fi
fi
say "chromium was not found and cannot be installed here: the browser tests will not run, all else will. Run: sudo apt-get install chromium"
