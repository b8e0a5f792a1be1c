//! All that limiters can be asked, direct and keyed, of whatever algorithm; and what they tell.

use std::any::Any;
use std::time::Duration;

use tollgate::{
    Algorithm, Clock, Decision, Denied, DeniedKind, FixedWindow, Instant, Keyed, Limiter, PartialGrant,
    Refundable, Reservation, SlidingCounter, TokenBucket,
};

use crate::vectors::Answer;

/// What a call asks for. Numbers are permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    Check(u64),
    Peek(u64),
    TakeUpTo(u64),
    /// With a wait of at most `max_wait` ns. The reference knows the reservation by its name.
    Reserve {
        name: u64,
        permits: u64,
        max_wait: u64,
    },
    Refund(u64),
    Penalize(u64),
    Reset,
}

/// What a call is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    Decided(Answer),
    /// So many permits of those asked for.
    Taken(u64, Answer),
    /// Reserved, and may be used at this ns.
    Due(u64),
    /// No reservation; it might be made after the wait.
    Refused {
        is_too_large: bool,
        wait: Option<u64>,
    },
    /// So many permits were given back, or taken away.
    Moved(u64),
    /// Whether there was something to forget.
    Forgot(bool),
    /// The key has no slot, and the limiter said so.
    NoSlot,
}

/// What a call is told, and what it holds.
#[derive(Debug)]
pub struct Reply<'l> {
    pub told: Told,
    pub reservation: Option<Reservation<'l>>,
}

/// A limiter to ask. A direct one takes every key for the same.
pub trait Verbs {
    /// Asks at a time, or on the limiter's own clock; `None` if the limiter has no such verb.
    fn ask(&self, key: u64, at: Option<Instant>, ask: Ask) -> Option<Reply<'_>>;

    fn horizon(&self) -> u64;

    /// Asks for a check of as many permits if there is no such verb. With what was asked for.
    fn ask_or_check(&self, key: u64, at: Option<Instant>, ask: Ask) -> (Reply<'_>, Ask) {
        if let Some(reply) = self.ask(key, at, ask) {
            return (reply, ask);
        }
        let check = Ask::Check(ask.permits());
        (self.ask(key, at, check).expect("every limiter checks"), check)
    }
}

impl Ask {
    /// How many permits it is about.
    pub fn permits(self) -> u64 {
        match self {
            Self::Check(permits)
            | Self::Peek(permits)
            | Self::TakeUpTo(permits)
            | Self::Reserve { permits, .. }
            | Self::Refund(permits)
            | Self::Penalize(permits) => permits,
            Self::Reset => 0,
        }
    }

    /// Whether it finds a slot for a key that has none, at most `limit` permits being granted at once.
    pub fn inserts(self, limit: u64) -> bool {
        match self {
            Self::Check(permits) | Self::Reserve { permits, .. } => 0 < permits && permits <= limit,
            Self::TakeUpTo(permits) | Self::Penalize(permits) => 0 < permits && 0 < limit,
            Self::Peek(_) | Self::Refund(_) | Self::Reset => false,
        }
    }
}

impl From<Decision> for Told {
    fn from(decision: Decision) -> Self {
        if decision.overflowed() { Self::NoSlot } else { Self::Decided(decision.into()) }
    }
}

impl From<PartialGrant> for Told {
    fn from(grant: PartialGrant) -> Self {
        match grant.decision() {
            decision if decision.overflowed() => Self::NoSlot,
            decision => Self::Taken(grant.permits(), decision.into()),
        }
    }
}

impl From<Denied> for Told {
    fn from(denied: Denied) -> Self {
        let wait = denied
            .retry_after()
            .map(|wait| u64::try_from(wait.as_nanos()).expect("a limiter's waits are told in 64 bits"));
        Self::Refused { is_too_large: denied.kind() == DeniedKind::TooLarge, wait }
    }
}

impl<T: Into<Told>> From<T> for Reply<'_> {
    fn from(told: T) -> Self {
        Self { told: told.into(), reservation: None }
    }
}

impl<'l> From<Result<Reservation<'l>, Denied>> for Reply<'l> {
    fn from(reserved: Result<Reservation<'l>, Denied>) -> Self {
        match reserved {
            Ok(reservation) => {
                let told = Told::Due(reservation.due().as_nanos());
                Self { told, reservation: Some(reservation) }
            }
            Err(denied) => denied.into(),
        }
    }
}

/// A limiter of this type, if that is what it is.
fn downcast<L: 'static>(limiter: &dyn Any) -> Option<&L> {
    limiter.downcast_ref()
}

impl<A: Algorithm + 'static, C: Clock + 'static> Verbs for Limiter<A, C> {
    fn ask(&self, _: u64, at: Option<Instant>, ask: Ask) -> Option<Reply<'_>> {
        fn refund<A: Refundable, C: Clock>(limiter: &Limiter<A, C>, at: Option<Instant>, n: u64) -> u64 {
            at.map_or_else(|| limiter.refund(n), |at| limiter.refund_at(at, n))
        }

        let bucket = || downcast::<Limiter<TokenBucket, C>>(self);
        Some(match ask {
            Ask::Check(n) => at.map_or_else(|| self.check_n(n), |at| self.check_at(at, n)).into(),
            Ask::Peek(n) => at.map_or_else(|| self.peek(n), |at| self.peek_at(at, n)).into(),
            Ask::TakeUpTo(n) => at.map_or_else(|| self.take_up_to(n), |at| self.take_up_to_at(at, n)).into(),
            Ask::Reserve { permits, max_wait, .. } => {
                let (bucket, max_wait) = (bucket()?, Duration::from_nanos(max_wait));
                match at {
                    Some(at) => bucket.reserve_at(at, permits, max_wait).into(),
                    None => bucket.reserve(permits, max_wait).into(),
                }
            }
            Ask::Refund(n) => {
                let window =
                    || downcast::<Limiter<FixedWindow, C>>(self).map(|limiter| refund(limiter, at, n));
                let counter =
                    || downcast::<Limiter<SlidingCounter, C>>(self).map(|limiter| refund(limiter, at, n));
                let given = bucket().map(|limiter| refund(limiter, at, n));
                Told::Moved(given.or_else(window).or_else(counter)?).into()
            }
            Ask::Penalize(n) => {
                let bucket = bucket()?;
                Told::Moved(at.map_or_else(|| bucket.penalize(n), |at| bucket.penalize_at(at, n))).into()
            }
            Ask::Reset => return None,
        })
    }

    fn horizon(&self) -> u64 {
        self.horizon().as_nanos()
    }
}

impl<A: Algorithm + 'static, C: Clock + 'static> Verbs for Keyed<A, u64, C> {
    fn ask(&self, key: u64, at: Option<Instant>, ask: Ask) -> Option<Reply<'_>> {
        fn refund<A: Refundable, C: Clock>(
            limiter: &Keyed<A, u64, C>,
            key: u64,
            at: Option<Instant>,
            n: u64,
        ) -> u64 {
            at.map_or_else(|| limiter.refund(&key, n), |at| limiter.refund_at(&key, at, n))
        }

        let bucket = || downcast::<Keyed<TokenBucket, u64, C>>(self);
        Some(match ask {
            Ask::Check(n) => at.map_or_else(|| self.check_n(&key, n), |at| self.check_at(&key, at, n)).into(),
            Ask::Peek(n) => at.map_or_else(|| self.peek(&key, n), |at| self.peek_at(&key, at, n)).into(),
            Ask::TakeUpTo(n) => {
                at.map_or_else(|| self.take_up_to(&key, n), |at| self.take_up_to_at(&key, at, n)).into()
            }
            Ask::Reserve { permits, max_wait, .. } => {
                let (bucket, max_wait) = (bucket()?, Duration::from_nanos(max_wait));
                match at {
                    Some(at) => bucket.reserve_at(&key, at, permits, max_wait).into(),
                    None => bucket.reserve(&key, permits, max_wait).into(),
                }
            }
            Ask::Refund(n) => {
                let window = || {
                    downcast::<Keyed<FixedWindow, u64, C>>(self).map(|limiter| refund(limiter, key, at, n))
                };
                let counter = || {
                    downcast::<Keyed<SlidingCounter, u64, C>>(self).map(|limiter| refund(limiter, key, at, n))
                };
                let given = bucket().map(|limiter| refund(limiter, key, at, n));
                Told::Moved(given.or_else(window).or_else(counter)?).into()
            }
            Ask::Penalize(n) => {
                let bucket = bucket()?;
                Told::Moved(at.map_or_else(|| bucket.penalize(&key, n), |at| bucket.penalize_at(&key, at, n)))
                    .into()
            }
            Ask::Reset => {
                Told::Forgot(at.map_or_else(|| self.reset(&key), |at| self.reset_at(&key, at))).into()
            }
        })
    }

    fn horizon(&self) -> u64 {
        self.horizon().as_nanos()
    }
}
