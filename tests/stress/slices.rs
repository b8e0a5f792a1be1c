//! Grants counted by slices of time: whether millions of them kept a bound is told by a few hundred numbers.

/// The grants of one state, as one thread saw them or all together.
#[derive(Clone)]
pub(crate) struct Slices {
    begin: u64,
    width: u64,
    /// Permits granted within each slice.
    within: Vec<u64>,
    /// First slice, last slice and permits of grants that took longer.
    across: Vec<(usize, usize, u64)>,
}

impl Slices {
    /// As many slices as `span` has, from `begin` on.
    pub(crate) fn new(begin: u64, width: u64, span: u64) -> Self {
        let count = usize::try_from(span.div_ceil(width)).expect("a number of slices that fits");
        Self { begin, width, within: vec![0; count], across: Vec::new() }
    }

    /// Counts a grant that took effect between two readings; those that end later than the last slice count for
    /// nothing.
    pub(crate) fn count(&mut self, from: u64, to: u64, permits: u64) {
        let slice = |time: u64| usize::try_from((time - self.begin) / self.width).unwrap_or(usize::MAX);
        let (first, last) = (slice(from), slice(to));
        if last >= self.within.len() {
            return;
        }
        if first == last {
            self.within[first] += permits;
        } else {
            self.across.push((first, last, permits));
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (sum, more) in self.within.iter_mut().zip(&other.within) {
            *sum += more;
        }
        self.across.extend(&other.across);
    }

    pub(crate) fn permits(&self) -> u64 {
        self.within.iter().sum::<u64>() + self.across.iter().map(|(.., permits)| permits).sum::<u64>()
    }

    /// Asserts that from the start of any slice to the end of any the grants number at most `bound` of the first and
    /// the last reading in them.
    pub(crate) fn assert_bounded(&self, bound: impl Fn(u64, u64) -> u64) {
        let mut ending = vec![Vec::new(); self.within.len()];
        for &(first, last, permits) in &self.across {
            ending[last].push((first, permits));
        }
        for start in 0..self.within.len() {
            let mut granted = 0;
            for (slice, within) in self.within.iter().enumerate().skip(start) {
                let across = ending[slice].iter().filter(|(first, _)| *first >= start);
                granted += within + across.map(|(_, permits)| permits).sum::<u64>();
                let time = |slice: usize| self.begin + slice as u64 * self.width;
                let (from, to) = (time(start), time(slice + 1) - 1);
                let most = bound(from, to);
                assert!(granted <= most, "{granted} of {most} permits from {from} to {to}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "4 of 3 permits from 10 to 39")]
fn a_permit_too_many_is_found() {
    let mut slices = Slices::new(10, 10, 50);
    for (from, to, permits) in [(11, 12, 1), (20, 21, 1), (25, 31, 1), (38, 39, 1), (40, 55, 1)] {
        slices.count(from, to, permits);
    }
    slices.assert_bounded(|from, to| (to - from) / 10 + 1);
}
