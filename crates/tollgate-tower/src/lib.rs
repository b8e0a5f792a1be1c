#![doc = include_str!("../README.md")]

pub mod headers;
pub mod keys;
