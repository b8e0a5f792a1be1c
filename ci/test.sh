#!/usr/bin/env bash
# Everything a change has to pass. Installs what is missing; needs bash, patch, a C++ compiler and a Rust toolchain.
set -euo pipefail
cd "$(dirname "$0")/.."

for check in tools fmt clippy docs tests examples benches dependencies panics package fuzz histories loom loom-bugs; do
    echo "== ci/$check.sh"
    began=$SECONDS
    "ci/$check.sh"
    echo "== ci/$check.sh: $((SECONDS - began)) s"
done
echo "== all checks passed: $SECONDS s"
