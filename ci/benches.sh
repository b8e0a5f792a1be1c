#!/usr/bin/env bash
# The benchmarks build, and each runs once: its verdicts are asserted. No time is looked at.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo bench --quiet -- --test
