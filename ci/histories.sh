#!/usr/bin/env bash
# Histories of threads that shuttle schedules and of threads that run freely, each explained by the sequential
# reference. TOLLGATE_HISTORIES sets how many there are of each test, TOLLGATE_SEED the seed.
# Fails if one cannot be explained, if a test did not report, and if fewer than 100,000 have calls that overlap.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
target=${CARGO_TARGET_DIR:-$PWD/target-histories}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

SECONDS=0
CARGO_TARGET_DIR=$target/running cargo test --quiet --release -p histories -- --nocapture --test-threads 1 2>&1 | tee "$log"
RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=$target/scheduled \
    cargo test --quiet --release -p histories --test scheduled -- --nocapture 2>&1 | tee -a "$log"

awk -v seconds="$SECONDS" -v least="${TOLLGATE_HISTORIES:+1}" '
    match($0, /histories of [a-z_]+: [0-9]+, overlapping: [0-9]+/) {
        split(substr($0, RSTART, RLENGTH), words, /[ ,]+/)
        tests++; histories += words[4]; overlapping += words[6]
    }
    END {
        printf "\nhistories: %d explained, %d of them with calls that overlap, %d s\n", histories, overlapping, seconds
        if (tests != 16) { printf "%d of 16 tests have reported\n", tests; exit 1 }
        if (overlapping < (least ? least : 100000)) { print "that is too few"; exit 1 }
    }' "$log"
