#!/usr/bin/env bash
# Sets up everything the project needs, in .venv below this folder. Idempotent: when nothing
# changed since the last run it does nothing and needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }

debian_packages=(python3-venv)
sandbox_packages=(bubblewrap git curl ca-certificates) # the default sandbox tier, and what its tests use inside
stronger_packages=(crun runsc)                          # the container and gvisor tiers; good to have

find_python() {
  for candidate in "${PYTHON:-}" python3.13 python3.12 python3.11 python3; do
    [ -n "$candidate" ] || continue
    if command -v "$candidate" >/dev/null 2>&1 \
      && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  say "Python 3.11 or newer was not found. Install it (Debian, Ubuntu: apt-get install python3 python3-venv) and run this again."
  exit 1
}

can_make_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

install_debian_packages() {
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "installing Debian packages: $*"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
  else
    return 1
  fi
}

# What is not there yet, of programs named package or package:program.
missing_of() {
  for item in "$@"; do
    command -v "${item#*:}" >/dev/null 2>&1 || printf '%s\n' "${item%%:*}"
  done
}

install_sandboxes() {
  local missing
  mapfile -t missing < <(missing_of bubblewrap:bwrap git curl)
  if [ ${#missing[@]} -gt 0 ] && ! install_debian_packages "${sandbox_packages[@]}"; then
    say "${missing[*]} not found and not installable here: without bubblewrap no stranger's code can be run, all else works. Run: sudo apt-get install ${sandbox_packages[*]}"
  fi
  mapfile -t missing < <(missing_of "${stronger_packages[@]}")
  compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null || missing+=(libfaketime) # another date for checks
  if [ ${#missing[@]} -gt 0 ] && ! install_debian_packages "${missing[@]}"; then
    say "${missing[*]} not found and not installable here: sandbox tiers (crun, runsc) or checks at another date (libfaketime) may be missing, all else works."
  fi
}

python=$(find_python)
stamp=.venv/.choir-setup
wanted=$(cat requirements.lock pyproject.toml tools/setup.sh | sha256sum | cut -d' ' -f1)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && .venv/bin/python -c '' 2>/dev/null; then
  exit 0
fi

if ! can_make_venv "$python"; then
  install_debian_packages "${debian_packages[@]}" || {
    say "Python's venv module is missing and cannot be installed without root: nothing can be set up. Run: sudo apt-get install ${debian_packages[*]}"
    exit 1
  }
fi

install_sandboxes

say "making .venv with $("$python" --version)"
[ -x .venv/bin/python ] && .venv/bin/python -c '' 2>/dev/null || "$python" -m venv --clear .venv
say "installing the locked dependencies (a minute the first time)"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
printf '%s' "$wanted" > "$stamp"
say "done"
