//! Serialized as text, and so checked as text when read.

use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::ParseError;
use crate::algorithm::{AnyAlgorithm, FixedWindow, SlidingCounter, SlidingLog, TokenBucket};
use crate::quota::Quota;

struct Text<T>(&'static str, PhantomData<T>);

impl<T: FromStr<Err = ParseError>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! as_text {
    ($type:ident, $expected:literal) => {
        /// As text.
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        /// From text. The error says what is wrong with it, and at which byte.
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Text($expected, PhantomData))
            }
        }
    };
}

as_text!(Quota, "a quota such as `100/min`");
as_text!(TokenBucket, "a token bucket such as `100/min burst 20`");
as_text!(FixedWindow, "a fixed window such as `1000/d utc`");
as_text!(SlidingCounter, "a sliding counter such as `100/min`");
as_text!(SlidingLog, "a sliding log such as `10/60s`");
as_text!(AnyAlgorithm, "an algorithm such as `sliding-log 10/60s`");
