#!/usr/bin/env bash
# Unit, integration and documentation tests.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --no-fail-fast -p tollgate -p tollgate-tokio -p tollgate-metrics -p tollgate-tracing --features tollgate/serde
cargo test --no-fail-fast -p tollgate-tower --all-features
