//! Two limits for each request: one for the tenant as a whole, and one for each of the tenant's users.
#![expect(clippy::print_stdout, reason = "it shows what the service answers")]

use tollgate::{AnyKey, BuildError, Clock, Keyed, QuantaClock, Quota, TokenBucket};

struct Limits {
    clock: QuantaClock,
    per_tenant: Keyed<TokenBucket, String>,
    /// Asked for pairs of a tenant and a user, which are borrowed where they are.
    per_user: Keyed<TokenBucket, AnyKey>,
}

#[derive(Debug)]
enum Verdict {
    Allowed,
    TenantIsOverQuota,
    UserIsOverQuota,
}

impl Limits {
    fn new() -> Result<Self, BuildError> {
        let clock = QuantaClock::new();
        Ok(Self {
            per_tenant: TokenBucket::new(Quota::per_minute(5)).clock(clock.clone()).keyed(1_000).build()?,
            per_user: TokenBucket::new(Quota::per_minute(3))
                .clock(clock.clone())
                .keyed_any(50_000)
                .build()?,
            clock,
        })
    }

    /// Asks both limits on one reading of the clock.
    fn check(&self, tenant: &str, user: &str) -> Verdict {
        let now = self.clock.now();
        // The user's limit first, and the tenant's only looked at: a user who is refused costs the tenant nothing.
        if !self.per_tenant.peek_at(tenant, now, 1).is_allowed() {
            return Verdict::TenantIsOverQuota;
        }
        if !self.per_user.check_at(&(tenant, user), now, 1).is_allowed() {
            return Verdict::UserIsOverQuota;
        }
        // Another thread may have taken the tenant's last permit since the look; then the user's is lost.
        if !self.per_tenant.check_at(tenant, now, 1).is_allowed() {
            return Verdict::TenantIsOverQuota;
        }
        Verdict::Allowed
    }
}

fn main() -> Result<(), BuildError> {
    let limits = Limits::new()?;
    for (tenant, user) in [("acme", "alice"), ("acme", "bob"), ("globex", "alice")] {
        let verdicts: Vec<_> = (0..4).map(|_| limits.check(tenant, user)).collect();
        println!("{user} of {tenant}: {verdicts:?}");
    }
    Ok(())
}
