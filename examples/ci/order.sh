#!/usr/bin/env bash
# Order what CI wants: a patch if the tests fail, a review, or both. For any CI; action.yml calls it on GitHub.
#
#   CHOIR_NODE=https://choir.example CHOIR_TOKEN=… CI_WHAT=both CI_FOLDER=out bash order.sh
#
# It leaves fix.diff and review.json in CI_FOLDER; report.py shows them. The token is read from the environment by the
# scripts and is part of no command. Ends with the first exit code that is not 0; see buy_a_patch.py for their meaning.
set -uo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
python="${CI_PYTHON:-python3}"
folder="${CI_FOLDER:-choir-ci}"
what="${CI_WHAT:-patch}"
mkdir -p "$folder"
rm -f "$folder/fix.diff" "$folder/review.json"

# What tests and strangers print is not to be taken for commands of the CI.
if [ "${GITHUB_ACTIONS:-}" = "true" ]; then
  word="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
  echo "::stop-commands::$word"
  trap 'echo "::$word::"' EXIT
fi

code=0
case "$what" in
  patch | both)
    "$python" "$here/buy_a_patch.py" --repo "${CI_REPO:-.}" --test "${CI_TEST:-python3 -m pytest -q}" \
      --budget "${CI_PATCH_BUDGET:-5000}" --timeout "${CI_TIMEOUT:-1800}" --out "$folder/fix.diff" || code=$?
    ;;&
  review | both)
    "$python" "$here/review_a_change.py" --repo "${CI_REPO:-.}" --base "${CI_BASE:-HEAD~1}" \
      --budget "${CI_REVIEW_BUDGET:-3000}" --timeout "${CI_TIMEOUT:-1800}" --out "$folder/review.json" ||
      { next=$?; [ "$code" -ne 0 ] || code=$next; }
    ;;
  patch) ;;
  *)
    echo "CI_WHAT is '$what'; there are patch, review and both." >&2
    code=2
    ;;
esac
exit "$code"
