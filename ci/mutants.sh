#!/usr/bin/env bash
# Changes the algorithms and the table in all the ways cargo-mutants knows, one at a time, and asks the tests that
# need no second thread to notice: `.cargo/mutants.toml` says which. Only `ci/deep.sh` runs this: an hour on two cores.
# All mutants, or one shard of them, as cargo-mutants counts shards: `ci/mutants.sh 0/4` to `ci/mutants.sh 3/4`.
# Fails if a mutant survives that ci/mutants.txt does not list; and, when all are run, if one listed there has been
# killed and if fewer than 95 % of those that compile are killed.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
killed_min_percent=95

if ! cargo mutants --version >/dev/null 2>&1; then
    echo "installing cargo-mutants"
    cargo install --locked --quiet cargo-mutants --version 27.1.0
fi

output=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$output"
arguments=(--output "$output")
(($# == 0)) || arguments+=(--shard "$1")
# Cargo tells the copy that is mutated from the repository by neither path nor name: it builds where it lies. The same
# properties for each mutant, so that the same ones survive each time.
status=0
env -u CARGO_TARGET_DIR PROPTEST_RNG_SEED=1 PROPTEST_CASES=250 cargo mutants "${arguments[@]}" || status=$?
# 2: some survive; 3: some do not end.
((status == 0 || status == 2 || status == 3)) || exit "$status"

results=$output/mutants.out
# Lines and columns move. A mutation of two places of one function is listed twice.
survivors=$(sed -E 's/^([^:]+):[0-9]+:[0-9]+: /\1: /' "$results/missed.txt" | sort)
listed=$(sed -E '/^(#|$)/d' ci/mutants.txt | sort)
unlisted=$(comm -13 <(echo "$listed") <(echo "$survivors"))
killed_after_all=$(comm -23 <(echo "$listed") <(echo "$survivors"))

failed=0
if unreasoned=$(awk 'BEGIN { RS = "" } !/^#/ { print; found = 1 } END { exit !found }' ci/mutants.txt); then
    printf 'are in ci/mutants.txt without a reason:\n%s\n' "$unreasoned" >&2
    failed=1
fi
if [[ -n $unlisted ]]; then
    printf 'survive and are not in ci/mutants.txt:\n%s\n' "$unlisted" >&2
    failed=1
fi
if (($# == 0)) && [[ -n $killed_after_all ]]; then
    printf 'are in ci/mutants.txt and do not survive:\n%s\n' "$killed_after_all" >&2
    failed=1
fi

killed=$(cat "$results/caught.txt" "$results/timeout.txt" | wc -l)
survive=$(wc -l <"$results/missed.txt")
viable=$((killed + survive))
if (($# == 0 && 100 * killed < killed_min_percent * viable)); then
    echo "fewer than $killed_min_percent % are killed" >&2
    failed=1
fi
((failed)) || listing=" (all listed)"
echo "mutants: $viable viable, $killed killed, $survive survive${listing:-}, $SECONDS s"
exit "$failed"
