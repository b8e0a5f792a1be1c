//! What a limit is, apart from any request.

use std::time::Duration;

use tollgate::{AnyAlgorithm, Quota};

use super::INTEGER_MAX;
use super::name::PolicyName;
use super::seconds::rounded_up;

/// What is counted: the parameter `qu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Unit {
    /// Requests; not written, since it is what a client assumes.
    #[default]
    Requests,
    /// Bytes of content.
    ContentBytes,
    /// Requests that are under way at a time.
    ConcurrentRequests,
}

/// What a limit is, apart from any request: its name, its quota and the unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    name: PolicyName,
    quota: Quota,
    capacity: Option<u64>,
    is_bucket: bool,
    unit: Unit,
}

impl Announcement {
    /// A limit of requests under this name.
    pub fn new(name: PolicyName, algorithm: &AnyAlgorithm) -> Self {
        let is_bucket = matches!(algorithm, AnyAlgorithm::TokenBucket(_));
        Self { name, quota: algorithm.quota(), capacity: None, is_bucket, unit: Unit::default() }
    }

    /// What is counted; requests unless told otherwise.
    pub fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// The most permits at one instant, told if it is not the quota's limit: a bucket's capacity.
    pub fn capacity(mut self, permits: u64) -> Self {
        self.capacity = Some(permits).filter(|permits| *permits != self.quota.limit());
        self
    }

    /// The name.
    pub fn name(&self) -> &PolicyName {
        &self.name
    }

    /// Permits per period: `q`.
    pub(super) fn permits(&self) -> u64 {
        self.quota.limit().min(INTEGER_MAX)
    }

    /// The period in whole seconds, rounded up: `w`. A shorter one than a second cannot be told.
    pub(super) fn window_seconds(&self) -> Option<u64> {
        (self.quota.period() >= Duration::from_secs(1)).then(|| rounded_up(self.quota.period()))
    }

    pub(super) fn told_capacity(&self) -> Option<u64> {
        self.capacity.map(|permits| permits.min(INTEGER_MAX))
    }

    pub(super) fn told_unit(&self) -> Option<&'static str> {
        match self.unit {
            Unit::Requests => None,
            Unit::ContentBytes => Some("content-bytes"),
            Unit::ConcurrentRequests => Some("concurrent-requests"),
        }
    }

    /// The seconds in which so many permits are used up at the announced rate, rounded up. A bucket may hold more than
    /// its quota's limit: without this a client would read a higher rate out of what it has left. Zero for windows and
    /// logs, which do end when they say.
    pub(super) fn seconds_for(&self, permits: u64) -> u64 {
        if !self.is_bucket || permits == 0 {
            return 0;
        }
        let window = match self.window_seconds() {
            Some(seconds) => u128::from(seconds) * NANOS_PER_SECOND,
            None => self.quota.period().as_nanos(),
        };
        let nanos_times_quota = u128::from(permits).saturating_mul(window);
        let per_second = u128::from(self.quota.limit().max(1)).saturating_mul(NANOS_PER_SECOND);
        u64::try_from(nanos_times_quota.div_ceil(per_second)).unwrap_or(u64::MAX)
    }
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;
