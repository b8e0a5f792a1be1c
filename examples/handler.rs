//! A request handler that limits each user, and tells a user who asks too often when to come back.
#![expect(clippy::print_stdout, reason = "it shows what the handler answers")]

use std::time::Duration;

use tollgate::{BuildError, Keyed, Quota, TokenBucket};

struct Api {
    per_user: Keyed<TokenBucket, String>,
}

struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
}

impl Api {
    fn new() -> Result<Self, BuildError> {
        // A burst of three, then one request every 20 s; for up to 100,000 users that are active at a time.
        let per_user = TokenBucket::new(Quota::per_minute(3)).keyed(100_000).build()?;
        Ok(Self { per_user })
    }

    fn handle(&self, user: &str) -> Response {
        let decision = self.per_user.check(user);
        let mut headers = vec![("X-RateLimit-Limit", decision.limit().to_string())];
        if let Some(remaining) = decision.remaining() {
            headers.push(("X-RateLimit-Remaining", remaining.to_string()));
        }
        if decision.is_allowed() {
            return Response { status: 200, headers };
        }
        if let Some(wait) = decision.retry_after() {
            headers.push(("Retry-After", whole_seconds(wait).to_string()));
        }
        Response { status: 429, headers }
    }
}

/// Rounded up: a client that comes back earlier is refused again.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

fn main() -> Result<(), BuildError> {
    let api = Api::new()?;
    for user in ["alice", "alice", "bob", "alice", "alice"] {
        let Response { status, headers } = api.handle(user);
        println!("{user}: {status} {headers:?}");
    }
    Ok(())
}
