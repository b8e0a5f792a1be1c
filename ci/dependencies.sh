#!/usr/bin/env bash
# What a user gets: the few dependencies listed here, and no loom in the lock file.
set -euo pipefail
cd "$(dirname "$0")/.."

direct=$(cargo tree --package tollgate --edges normal --depth 1 --prefix none --format '{p}' \
    | sed 1d | cut -d' ' -f1 | sort)
expected=$(printf '%s\n' bytemuck crossbeam-utils quanta siphasher)
if ! diff <(echo "$expected") <(echo "$direct"); then
    echo "tollgate's direct dependencies (>) are not those agreed on (<)" >&2
    exit 1
fi

# Crates for runtimes and servers depend on the core, never the other way round.
for package in tollgate loom-tests; do
    if cargo tree --package "$package" --all-features --prefix none --format '{p}' \
        | grep -E '^(tower|hyper|http|tokio|redis|metrics|tracing)[ -]'; then
        echo "$package depends on what belongs in crates/" >&2
        exit 1
    fi
done

user=$(mktemp -d)
trap 'rm -rf "$user"' EXIT
cargo init --quiet --vcs none --name user --lib "$user"
cargo add --quiet --manifest-path "$user/Cargo.toml" --path "$PWD"
cargo generate-lockfile --quiet --manifest-path "$user/Cargo.toml"
if grep -E '^name = "(loom|shuttle|criterion|proptest)"' "$user/Cargo.lock"; then
    echo "a user's lock file carries what only tests need" >&2
    exit 1
fi
echo "a user's lock file: $(grep -c '^name = ' "$user/Cargo.lock") packages"
