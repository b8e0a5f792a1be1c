//! What a subscriber is told.

use std::io;
use std::sync::{Arc, Mutex};

use tollgate::{ManualClock, Observed, Quota, TokenBucket};
use tollgate_tracing::TracingHook;
use tracing::Level;
use tracing::subscriber::with_default;

/// Where events are written.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines written by what is done under a subscriber of this level.
fn logged(level: Level, work: impl FnOnce()) -> Vec<String> {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .without_time()
        .with_writer(move || writer.clone())
        .finish();
    with_default(subscriber, work);
    let bytes = log.0.lock().expect("nobody panics").clone();
    String::from_utf8(bytes).expect("text").lines().map(|line| line.trim_start().to_owned()).collect()
}

#[test]
fn refusals_are_events_for_debugging_and_the_rest_for_tracing() {
    let limiter = TokenBucket::new(Quota::per_second(2)).clock(ManualClock::new()).keyed::<str>(10);
    let limiter = Observed::new(limiter.build().expect("a limiter"), TracingHook::new("logins").with_keys());
    let ask = || {
        for n in [2, 1, 3] {
            let _ = limiter.check_n("alice", n);
        }
    };
    let refused = [
        "DEBUG tollgate: limiter=\"logins\" key=\"alice\" outcome=\"refused\" limit=2 remaining=0 \
         retry_after_ms=500 overflowed=false",
        "DEBUG tollgate: limiter=\"logins\" key=\"alice\" outcome=\"too_large\" limit=2 remaining=0 \
         overflowed=false",
    ];
    assert_eq!(logged(Level::DEBUG, ask), refused);
    limiter.limiter().clock().advance(std::time::Duration::from_secs(1));
    let all = logged(Level::TRACE, ask);
    assert_eq!(
        all[0],
        "TRACE tollgate: limiter=\"logins\" key=\"alice\" outcome=\"allowed\" limit=2 remaining=0 overflowed=false"
    );
    assert_eq!(all[1..], refused);
    assert_eq!(logged(Level::INFO, ask), [""; 0]);
}

#[test]
fn keys_are_told_only_where_they_are_asked_for() {
    let limiter = TokenBucket::new(Quota::per_second(0)).build().expect("a limiter");
    let limiter = Observed::new(limiter, TracingHook::new("all"));
    let lines = logged(Level::DEBUG, || {
        let _ = limiter.check();
    });
    assert_eq!(
        lines,
        ["DEBUG tollgate: limiter=\"all\" outcome=\"too_large\" limit=0 remaining=0 overflowed=false"]
    );
}
