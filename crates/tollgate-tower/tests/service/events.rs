use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tollgate_tower::Mode;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::{Server, everybodys, get, per_peer};

/// Keeps each event's level and its fields but the message.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(Level, String)>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() != "message" {
            let _ = write!(self.0, "{}={value:?} ", field.name());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.0, "{}={value} ", field.name());
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tollgate"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        let told = (*event.metadata().level(), fields.0.trim_end().to_owned());
        self.0.lock().expect("not poisoned").push(told);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What one request is told by, on this thread.
async fn told(server: &Server, ask: &crate::Ask) -> Vec<(Level, String)> {
    let kept = Kept::default();
    let _guard = tracing::subscriber::set_default(kept.clone());
    let _ = server.status(ask).await;
    let told = kept.0.lock().expect("not poisoned");
    told.clone()
}

#[tokio::test]
async fn each_decision_is_an_event_with_the_policy_and_the_outcome() {
    let server = Server::new([
        everybodys("enforced", "fixed-window 2/h"),
        everybodys("tried", "fixed-window 1/h").mode(Mode::Shadow),
    ]);
    let wait = "retry_after=Some(3600s)";
    let allowed = |policy| (Level::TRACE, format!("policy={policy} outcome=allowed"));
    assert_eq!(told(&server, &get("/")).await, [allowed("enforced"), allowed("tried")]);
    let shadow = (Level::DEBUG, format!("policy=tried outcome=shadow_refused {wait}"));
    assert_eq!(told(&server, &get("/")).await, [allowed("enforced"), shadow]);
    let refused = (Level::DEBUG, format!("policy=enforced outcome=refused {wait}"));
    assert_eq!(told(&server, &get("/")).await, [refused]);
}

/// Not each: whoever sends them could fill the log.
#[tokio::test]
async fn requests_without_a_key_are_errors_at_the_first_and_then_ever_fewer() {
    let server = Server::new([per_peer("per client", "1/h")]);
    let mut errors = Vec::new();
    for number in 1..=20 {
        for (level, fields) in told(&server, &get("/").without_peer()).await {
            assert_eq!(level, Level::ERROR);
            assert!(fields.starts_with("policy=per client outcome=missing_key"), "{fields}");
            errors.push(number);
        }
    }
    assert_eq!(errors, [1, 2, 4, 8, 16]);
}
