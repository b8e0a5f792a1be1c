//! Linearizability: what threads were told, and whether one order of their calls explains it.
//!
//! A [`Plan`](plan::Plan) is a small program of a few threads, made from a number. It is carried out on the
//! production code by two kinds of threads (`tests/`): those of shuttle, whose random and PCT schedulers choose who
//! goes next at each atomic operation, and the system's, which run freely. Either way each call is
//! [recorded](record): when it began and ended, the readings of the clock that it took, and all that it was told.
//! [`explain`](checker::explain) then looks for an order of the calls, in which no call comes before one that had
//! ended when it began, such that the sequential reference gives the same answers at these readings.
//!
//! shuttle runs one thread at a time: it treats each ordering as sequentially consistent. It finds interleavings; that
//! the orderings are strong enough is loom's to show (`loom-tests`), and the processor's, where threads run freely.

#![expect(missing_docs, reason = "not published: where a name says it all, it stands alone")]
#![expect(clippy::missing_panics_doc, reason = "what must not be told panics")]
#![expect(clippy::missing_errors_doc, reason = "what cannot be explained is an error")]

pub mod checker;
pub mod key_state;
pub mod plan;
pub mod record;
