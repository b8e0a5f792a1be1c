#!/usr/bin/env bash
# The examples as their users run them: the README's first command, the vectors, the memory figures, the small programs.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --examples --quiet
run() {
    echo "-- $*"
    cargo run --release --quiet --example "$@"
}
for algorithm in token-bucket fixed-window sliding-counter sliding-log; do
    run replay -- --algorithm "$algorithm" --limit 3/10s examples/data/sample-access.log
done
run conformance -- tests/vectors/reference.txt | tail -n 1
run memory
for program in cli handler worker tenants manual_clock; do
    run "$program" </dev/null
done
