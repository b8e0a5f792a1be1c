#!/usr/bin/env bash
# What would be published builds from what is packaged alone.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo package --package tollgate --package tollgate-tokio --package tollgate-metrics --package tollgate-tracing \
    --package tollgate-tower --allow-dirty --quiet
