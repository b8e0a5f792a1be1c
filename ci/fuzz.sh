#!/usr/bin/env bash
# Fuzzes the targets of fuzz/, all of them or those that are named: ci/fuzz.sh [SECONDS [TARGET...]]
# Each runs for SECONDS (60 if not told), as many at once as there are cores, from its seeds and from the corpus that
# earlier runs have grown in fuzz/corpus. Fails if one crashes, takes 10 s for one input, or has hardly run at all.
#
# With the stable toolchain: only the sanitizers of cargo-fuzz need a nightly one, and without `unsafe` there is little
# for them to find. The coverage that guides libFuzzer, debug assertions and checks of overflow are on.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
if [[ ! $seconds =~ ^[1-9][0-9]*$ ]]; then
    echo "not a number of seconds: $seconds" >&2
    exit 1
fi
# Each target makes thousands a second, on a busy machine hundreds; one that does nothing makes one in all.
executions_min=$((10 * seconds))
# The least that parsing anything reaches.
edges_min=100

if ! command -v "${CXX:-c++}" >/dev/null; then
    echo "there is no C++ compiler, and libFuzzer is built with one: install g++ or clang" >&2
    exit 1
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "installing cargo-fuzz"
    cargo install --locked --quiet cargo-fuzz
fi
options=(--sanitizer none --target-dir "${CARGO_TARGET_DIR:-$PWD/fuzz/target}")
cargo fuzz build "${options[@]}"

if (($# > 1)); then
    targets=("${@:2}")
else
    listed=$(cargo fuzz list)
    mapfile -t targets <<<"$listed"
fi

logs=$(mktemp -d)
stop() {
    local running
    running=$(jobs -p)
    # shellcheck disable=SC2086 # one word a process
    [[ -z $running ]] || kill $running 2>/dev/null || true
    rm -rf "$logs"
}
trap stop EXIT

fuzz() {
    mkdir -p "fuzz/corpus/$1"
    cargo fuzz run "${options[@]}" "$1" "fuzz/corpus/$1" "fuzz/seeds/$1" -- \
        -max_total_time="$seconds" -timeout=10 -max_len=512 -print_final_stats=1 >"$logs/$1" 2>&1 \
        || touch "$logs/$1.failed"
}
cores=$(getconf _NPROCESSORS_ONLN)
for target in "${targets[@]}"; do
    while (($(jobs -pr | wc -l) >= cores)); do
        wait -n
    done
    echo "fuzzing $target for $seconds s"
    fuzz "$target" &
done
wait

failed=0
for target in "${targets[@]}"; do
    executions=$(sed -nE 's/^stat::number_of_executed_units: *([0-9]+)$/\1/p' "$logs/$target")
    edges=$(sed -nE 's/^#[0-9].* cov: ([0-9]+) .*/\1/p' "$logs/$target" | tail -n 1)
    took=$(sed -nE 's/^Done .* runs in ([0-9]+) second.*/\1/p' "$logs/$target")
    printf '%-16s %12s executions, cov %6s, %5s s\n' "$target" "${executions:--}" "${edges:--}" "${took:--}"
    if [[ -e $logs/$target.failed ]]; then
        # What went wrong, the input, and the command that repeats it.
        sed -nE '/^Error: /q; /panicked at|ERROR: libFuzzer|^error/,$p' "$logs/$target" | grep -v '^stat::' >&2 \
            || tail "$logs/$target" >&2
        echo "FAILED $target" >&2
        failed=1
    elif ((${executions:-0} < executions_min || ${edges:-0} < edges_min)); then
        echo "FAILED $target: it has hardly run, or nothing leads it" >&2
        failed=1
    fi
done
exit "$failed"
