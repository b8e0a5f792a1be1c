//! Models of tollgate: its production code on loom's atomics, explored through every schedule up to a bound.
//!
//! `ci/loom.sh` builds and runs them; a plain `cargo test` cannot, and says so. Each model stands in `MODELS` with
//! the bug it would catch, and `bugs/` plants that bug to prove it (`ci/loom-bugs.sh`). A model calls the crate and
//! nothing else: it copies no algorithm. Its clock moves while its threads run, and each reads it before it can be
//! stopped.

#[cfg(loom)]
mod explore;
#[cfg(loom)]
mod recorder;
#[cfg(loom)]
pub mod table;

#[cfg(loom)]
pub use explore::{at, model, spawn};
#[cfg(loom)]
pub use recorder::{Answer, Recorder, ask, ask_at, granted};

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    #[test]
    fn models_built_without_loom_say_how_to_run_them() {
        panic!("the models need `--cfg loom`, in a target folder of their own: run ci/loom.sh");
    }
}
