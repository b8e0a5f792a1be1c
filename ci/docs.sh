#!/usr/bin/env bash
# The documentation, private items too: every link must lead somewhere.
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps -p tollgate -p tollgate-tokio -p tollgate-metrics -p tollgate-tracing \
    -p tollgate-tower --features tollgate/serde,tollgate-tower/axum,tollgate-tower/file --quiet
RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --no-deps --document-private-items --quiet
