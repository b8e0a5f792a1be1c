#!/usr/bin/env bash
# Installs what the other checks need and says so when it cannot.
set -euo pipefail

if ! command -v cargo >/dev/null; then
    echo "there is no cargo: install a Rust toolchain from https://rustup.rs" >&2
    exit 1
fi
for component in rustfmt clippy; do
    if ! cargo "${component/rust/}" --version >/dev/null 2>&1; then
        echo "installing $component"
        rustup component add "$component"
    fi
done
if ! command -v patch >/dev/null; then
    echo "installing patch"
    if ! { command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq patch; }; then
        echo "there is no patch and it cannot be installed here: install it with your system's packages" >&2
        exit 1
    fi
fi
cargo --version
