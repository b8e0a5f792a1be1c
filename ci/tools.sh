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
# libFuzzer is built with the C++ compiler, also to lint the fuzz targets.
for command in patch "${CXX:-c++}"; do
    if ! command -v "$command" >/dev/null; then
        package=${command/#c++/g++}
        echo "installing $package"
        if ! { command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq "$package"; }; then
            echo "there is no $command and it cannot be installed here: install it with your system's packages" >&2
            exit 1
        fi
    fi
done
cargo --version
