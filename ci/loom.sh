#!/usr/bin/env bash
# Explores the models of loom-tests: all of them, or those whose file::test contains one of the arguments.
# Fails if a model fails, if one listed in loom-tests/MODELS did not run, and if one that ran is not listed.
# LOOM_MORE_PREEMPTIONS is added to every model's bound, to look deeper.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target-loom}"
export RUSTFLAGS="--cfg loom"
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
test=(cargo test --quiet --release -p loom-tests)

# file::test|bound, one a line
listed=$(sed -E '/^[[:space:]]*(#|$)/d; s/[[:space:]]*\|[[:space:]]*/|/g' loom-tests/MODELS | cut -d'|' -f1,2 | sort)
repeated=$(cut -d'|' -f1 <<<"$listed" | uniq -d)
if [[ -n $repeated ]]; then
    echo "listed twice in loom-tests/MODELS: $repeated" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
if (($# == 0)); then
    expected=$listed
    "${test[@]}" --test '*' --no-run
    SECONDS=0
    "${test[@]}" --test '*' --no-fail-fast -- --nocapture 2>&1 | tee "$log" || failed=1
else
    expected=$(grep -F "$(printf '%s\n' "$@")" <<<"$listed" || true)
    if [[ -z $expected ]]; then
        echo "no model listed in loom-tests/MODELS matches: $*" >&2
        exit 1
    fi
    for file in $(sed 's/::.*//' <<<"$expected" | sort -u); do
        tests=$(sed -nE "s/^$file::([^|]*).*/\1/p" <<<"$expected")
        # shellcheck disable=SC2086 # one word a test
        "${test[@]}" --test "$file" -- --nocapture --exact $tests 2>&1 | tee -a "$log" || failed=1
    done
fi

# The bound counts as well, unless more was asked for.
fields=1,2
[[ -z ${LOOM_MORE_PREEMPTIONS:-} ]] || fields=1
explored='.*model ([a-z0-9_:]+): ([0-9]+) executions, bound ([0-9]+).*'
ran=$(sed -nE "s/$explored/\1|\3/p" "$log" | cut -d'|' -f"$fields" | sort)
expected=$(cut -d'|' -f"$fields" <<<"$expected")
if ! difference=$(diff <(echo "$expected") <(echo "$ran")); then
    echo "loom-tests/MODELS (<) and what ran (>) differ:" >&2
    grep '^[<>]' <<<"$difference" >&2
    failed=1
fi

sed -nE "s/$explored/\2/p" "$log" | awk -v seconds="$SECONDS" '
    { executions += $1 }
    END { printf "\nloom: %d models, %d executions, %d s\n", NR, executions, seconds }'
exit "$failed"
