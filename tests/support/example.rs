//! The examples, run as a user runs them.

use std::process::{Command, Output};

/// Runs an example through cargo, which knows where it is built and builds it if need be.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--example", name, "--"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo can be run")
}
