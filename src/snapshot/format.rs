//! The bytes of a snapshot: numbers of 64 bits, the low byte first, and texts behind their lengths.
//!
//! ```text
//! magic     "tollgate"
//! version   1
//! text      what the limiter was built from
//! text      what the shared limit was built from; empty without one
//! number*2  the hasher's key
//! number    the fingerprint of a certain text
//! number    the keys that the limiter was for
//! number*2  the shifts of the limiter's and the shared limit's own times
//! count number*count        the shared limit's state; none if it is as good as new
//! (fingerprint state)* 0    the keys'; no fingerprint is 0
//! number    how many keys those were
//! number    the clock's reading behind them, in ns
//! number    the wall clock's time then, in ns since the Unix epoch
//! number    the checksum: SipHash-1-3 under the key 0 of all before
//! ```
//!
//! A state is what [`Portable::save`](crate::algorithm::Portable::save) makes of it: see there.

use core::hash::Hasher;
use std::io::{self, Write};

use siphasher::sip::SipHasher13;

use crate::snapshot::RestoreError;

const MAGIC: &[u8; 8] = b"tollgate";
pub(super) const VERSION: u64 = 1;

const NUMBER_BYTES: usize = size_of::<u64>();
/// Numbers behind the keys: how many those were, and two times.
const TAIL_NUMBERS: usize = 3;

/// Bytes that are gathered before they are written.
const CHUNK_BYTES: usize = 1 << 16;

/// Writes a snapshot.
#[derive(Debug)]
pub(super) struct Encoder<'w, W> {
    out: &'w mut W,
    chunk: Vec<u8>,
    checksum: SipHasher13,
}

impl<'w, W: Write> Encoder<'w, W> {
    pub(super) fn new(out: &'w mut W) -> io::Result<Self> {
        let chunk = Vec::with_capacity(CHUNK_BYTES);
        let mut encoder = Self { out, chunk, checksum: SipHasher13::new() };
        encoder.bytes(MAGIC)?;
        encoder.number(VERSION)?;
        Ok(encoder)
    }

    pub(super) fn number(&mut self, number: u64) -> io::Result<()> {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn numbers(&mut self, numbers: &[u64]) -> io::Result<()> {
        numbers.iter().try_for_each(|number| self.number(*number))
    }

    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        self.number(text.len() as u64)?;
        self.bytes(text.as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.chunk.len() + bytes.len() > CHUNK_BYTES {
            self.write_chunk()?;
        }
        self.chunk.extend_from_slice(bytes);
        Ok(())
    }

    fn write_chunk(&mut self) -> io::Result<()> {
        self.checksum.write(&self.chunk);
        self.out.write_all(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }

    /// Nothing follows.
    pub(super) fn seal(mut self) -> io::Result<()> {
        self.write_chunk()?;
        self.out.write_all(&self.checksum.finish().to_le_bytes())?;
        self.out.flush()
    }
}

/// A snapshot whose checksum is right.
#[derive(Debug)]
pub(super) struct Decoder<'b> {
    rest: &'b [u8],
}

impl<'b> Decoder<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Result<Self, RestoreError> {
        let body = bytes.strip_prefix(MAGIC).ok_or(RestoreError::NotASnapshot)?;
        let (covered, checksum) = bytes.split_last_chunk().ok_or(RestoreError::Damaged)?;
        let mut decoder = Self { rest: body };
        let version = decoder.number()?;
        if version != VERSION {
            return Err(RestoreError::Version { found: version });
        }
        let mut hasher = SipHasher13::new();
        hasher.write(covered);
        if hasher.finish() != u64::from_le_bytes(*checksum) {
            return Err(RestoreError::Damaged);
        }
        let end = decoder.rest.len().checked_sub(NUMBER_BYTES).ok_or(RestoreError::Damaged)?;
        Ok(Self { rest: &decoder.rest[..end] })
    }

    pub(super) fn number(&mut self) -> Result<u64, RestoreError> {
        self.next().ok_or(RestoreError::Damaged)
    }

    pub(super) fn text(&mut self) -> Result<&'b str, RestoreError> {
        let len = usize::try_from(self.number()?).map_err(|_| RestoreError::Damaged)?;
        let (text, rest) = self.rest.split_at_checked(len).ok_or(RestoreError::Damaged)?;
        self.rest = rest;
        core::str::from_utf8(text).map_err(|_| RestoreError::Damaged)
    }

    /// A state behind the number of its numbers.
    pub(super) fn state(&mut self) -> Result<Vec<u64>, RestoreError> {
        let count = self.number()?;
        if count > self.rest.len() as u64 {
            return Err(RestoreError::Damaged);
        }
        (0..count).map(|_| self.number()).collect()
    }

    /// The numbers behind the keys.
    pub(super) fn tail(&self) -> Result<[u64; TAIL_NUMBERS], RestoreError> {
        let start = self.rest.len().checked_sub(TAIL_NUMBERS * NUMBER_BYTES).ok_or(RestoreError::Damaged)?;
        let mut tail = Self { rest: &self.rest[start..] };
        Ok([tail.number()?, tail.number()?, tail.number()?])
    }

    /// Whether only the numbers behind the keys are left.
    pub(super) fn is_at_tail(&self) -> bool {
        self.rest.len() == TAIL_NUMBERS * NUMBER_BYTES
    }
}

/// Its numbers from here on.
impl Iterator for Decoder<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let (number, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*number))
    }
}
