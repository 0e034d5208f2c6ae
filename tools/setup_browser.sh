#!/usr/bin/env bash
# Sees to it that the browser tests have browsers: Debian's Chromium and Firefox. `make run` needs none.
# Idempotent: where they are, it does nothing and needs no network.
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }

missing=()
for browser in chromium firefox-esr; do
  command -v "$browser" >/dev/null 2>&1 || missing+=("$browser")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
  say "installing Debian's ${missing[*]} for the browser tests"
  apt-get update -qq || true
  if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
    exit 0
  fi
fi
say "${missing[*]} not found and not installable here: tests in that browser will not run, all else will. Run: sudo apt-get install ${missing[*]}"
