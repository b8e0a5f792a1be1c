#!/usr/bin/env bash
# Fails if the machine code of a decision can panic at a place that is not listed, with its reason, in
# asm-tests/ALLOWED.
#
# Compiles the probes of asm-tests, one for each verb of each algorithm, direct and keyed, and for what a decision
# tells; follows all they call, through this crate and its dependencies; and reports every call of a function that
# panics by the source it is in, every call of a function that was not compiled here (so of one that allocates), and
# every call of a pointer. It also fails if it does not see the panics of the canaries in asm-tests.
#
# It sees what this compiler has not ruled out, in the release build, with one unit of code generation. Sums and
# products are not checked there: how many places a build with overflow checks has is told, and fails nothing. That
# none overflows is for the tests, which run with those checks.
#
# `ci/panics.sh --print token_bucket::check` prints the assembly of the probes with that in their names instead.
# CARGO_BUILD_TARGET chooses another target that is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

triple="${CARGO_BUILD_TARGET:-$(rustc -vV | sed -n 's/^host: //p')}"
case $triple in
    x86_64-*-linux-* | aarch64-*-linux-*) ;;
    *)
        echo "NOT CHECKED: asm-tests reads the assembly of Linux on x86_64 and aarch64, not of $triple" >&2
        exit
        ;;
esac

target="${CARGO_TARGET_DIR:-$PWD/target}"
reader() {
    (unset CARGO_BUILD_TARGET && cargo run --quiet -p asm-tests -- "$@")
}
# The name of a directory, and flags. From scratch: assembly of another build must not lie about.
assemble() {
    rm -rf "${target:?}/$1"
    CARGO_TARGET_DIR="$target/$1" \
        RUSTFLAGS="${RUSTFLAGS:-} -C codegen-units=1 -C symbol-mangling-version=v0 --emit asm $2" \
        cargo build --quiet --release -p asm-tests --lib
    mapfile -d '' assembly < <(find "$target/$1" -path '*/deps/*.s' -print0)
}

assemble panics ""
if [[ ${1:-} == --print ]]; then
    reader --print "${2:-}" asm-tests/ALLOWED "${assembly[@]}"
    exit
fi
(unset CARGO_BUILD_TARGET && cargo test --quiet -p asm-tests --bins)
reader asm-tests/ALLOWED "${assembly[@]}"
assemble panics-overflow "-C overflow-checks=on"
reader --count-overflows asm-tests/ALLOWED "${assembly[@]}"
