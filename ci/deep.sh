#!/usr/bin/env bash
# What takes long, for now and then: many more properties and longer stress, and the models one preemption deeper.
# An hour or so on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/tools.sh
PROPTEST_CASES=200000 cargo test --release --test properties
TOLLGATE_STRESS_SECONDS=60 cargo test --release --test stress
LOOM_MAX_PREEMPTIONS=3 ci/loom.sh
echo "== deep checks passed: $SECONDS s"
