//! The same on all four algorithms: Rust has no generic closures.

/// Calls `run(&builder, arguments)` with a builder of each algorithm.
macro_rules! for_each_algorithm {
    ($quota:expr, $clock:expr, $run:ident($($argument:expr),*)) => {{
        $run(&tollgate::TokenBucket::new($quota).clock($clock), $($argument),*);
        $run(&tollgate::FixedWindow::new($quota).clock($clock), $($argument),*);
        $run(&tollgate::SlidingCounter::new($quota).clock($clock), $($argument),*);
        $run(&tollgate::SlidingLog::new($quota).clock($clock), $($argument),*);
    }};
}

pub(crate) use for_each_algorithm;
