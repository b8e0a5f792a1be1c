#!/usr/bin/env bash
# What takes long, for now and then: many more properties and longer stress, the models one preemption deeper, and an
# hour for each fuzz target. Four hours or so on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/tools.sh
PROPTEST_CASES=200000 cargo test --release --test properties
TOLLGATE_STRESS_SECONDS=60 cargo test --release --test stress
LOOM_MAX_PREEMPTIONS=3 ci/loom.sh
ci/fuzz.sh 3600
echo "== deep checks passed: $SECONDS s"
