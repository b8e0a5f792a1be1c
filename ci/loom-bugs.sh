#!/usr/bin/env bash
# Plants each bug of loom-tests/bugs in a copy of the repository and runs the model that has to catch it.
# All of them, or those whose name contains one of the arguments. Fails if a patch does not apply or does not
# compile, if its model passes, and (when all are run) if a model has no bug.
#
# A patch is a unified diff against src/; its first lines say
#   # model: file::test          (or several, with spaces between: each has to catch it)
#   # one line: what the bug is
set -euo pipefail
cd "$(dirname "$0")/.."

# Cargo tells the copy from the repository by neither path nor name, so their artifacts must not meet.
target="${CARGO_TARGET_DIR:-$PWD/target-loom}"
scratch=$target/bugs
export CARGO_TARGET_DIR=$target/bugs-target
export RUSTFLAGS="--cfg loom"
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
cargo=(cargo test --quiet --release -p loom-tests)

rm -rf "$scratch"
mkdir -p "$scratch"
while IFS= read -r -d '' file; do
    [[ ! -f $file ]] || cp --parents "$file" "$scratch"
done < <(git ls-files -z --cached --others --exclude-standard)
cd "$scratch"
mv src original

failed=0
count=0
fail() {
    echo "FAILED $1: $2" >&2
    failed=1
}

for patch in loom-tests/bugs/*.patch; do
    name=$(basename "$patch" .patch)
    if (($# > 0)) && ! grep -qF "$(printf '%s\n' "$@")" <<<"$name"; then
        continue
    fi
    count=$((count + 1))
    models=$(sed -nE '1s/^# model: ([a-z0-9_: ]+)$/\1/p' "$patch")
    if [[ -z $models ]]; then
        fail "$name" "its first line is not '# model: file::test'"
        continue
    fi

    rm -rf src
    cp -r original src
    if ! output=$(patch -p1 --no-backup-if-mismatch -i "$patch" 2>&1); then
        fail "$name" "does not apply"$'\n'"$output"
        continue
    fi
    for model in $models; do
        file=${model%%::*} test=${model#*::} started=$SECONDS
        line=$(grep -E "^$model[[:space:]]*\|" loom-tests/MODELS || true)
        if ! tr -s ', ' '\n' <<<"${line##*|}" | grep -qxF -- "$name"; then
            fail "$name" "loom-tests/MODELS does not name it beside $model"
        elif ! output=$("${cargo[@]}" --test "$file" --no-run 2>&1); then
            fail "$name" "does not compile"$'\n'"$output"
        else
            status=0
            output=$(timeout 600 "${cargo[@]}" --test "$file" -- --nocapture --exact "$test" 2>&1) || status=$?
            if ((status == 124)); then
                fail "$name" "$model does not end"
            elif ((status == 101)) && grep -q '^test result: FAILED. 0 passed; 1 failed' <<<"$output"; then
                echo "caught $name by $model ($((SECONDS - started)) s)"
            else
                fail "$name" "$model does not catch it"$'\n'"$(tail -n 5 <<<"$output")"
            fi
        fi
    done
done

if (($# == 0)); then
    while IFS= read -r model; do
        grep -qE "^# model: (.* )?$model( |\$)" loom-tests/bugs/*.patch || fail "$model" "no patch plants a bug for it"
    done < <(sed -E '/^[[:space:]]*(#|$)/d; s/[[:space:]]*\|.*//' loom-tests/MODELS)
fi

if ((count == 0)); then
    fail "$*" "no bug has that in its name"
fi

echo
echo "loom-bugs: $count bugs, $SECONDS s"
exit "$failed"
