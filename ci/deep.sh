#!/usr/bin/env bash
# What takes long, for now and then: many more properties, larger tables, longer stress, ten million histories, the
# models one preemption deeper, and an hour for each fuzz target. Most of a day on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/tools.sh
PROPTEST_CASES=200000 cargo test --test properties
PROPTEST_CASES=200000 TOLLGATE_TABLE_KEYS=2000000 cargo test --test table
TOLLGATE_STRESS_SECONDS=60 cargo test --test stress
cargo test --test stress -- --ignored --nocapture
TOLLGATE_HISTORIES=1300000 TOLLGATE_SEED=$RANDOM ci/histories.sh
LOOM_MORE_PREEMPTIONS=1 ci/loom.sh
ci/fuzz.sh 3600
ci/mutants.sh
echo "== deep checks passed: $SECONDS s"
