#!/usr/bin/env bash
# The lints of Cargo.toml, all of them errors; with the cfgs of loom and shuttle too.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo clippy --workspace --all-targets --features serde,tollgate-tower/axum,tollgate-tower/file --quiet -- -D warnings
# Without its features there is less to use.
cargo clippy -p tollgate-tower --lib --quiet -- -D warnings
# A workspace of its own.
cargo clippy --manifest-path fuzz/Cargo.toml --all-targets --quiet -- -D warnings
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target-loom}" RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" \
    cargo clippy -p loom-tests --all-targets --quiet -- -D warnings
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target-histories}" RUSTFLAGS="${RUSTFLAGS:-} --cfg shuttle" \
    cargo clippy -p histories --all-targets --quiet -- -D warnings
