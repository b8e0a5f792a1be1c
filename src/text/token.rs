//! The pieces of a text, each with its place.

/// What a piece looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Digits, and perhaps a point and more digits; `_` may stand after each first digit.
    Number,
    /// The same after a minus.
    Negative,
    /// A letter, and letters, digits and hyphens.
    Word,
    /// Any other single character.
    Symbol,
    /// Nothing: the text ends here.
    End,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    /// The byte it starts at.
    pub(super) start: usize,
    pub(super) text: &'t str,
}

impl<'t> Token<'t> {
    /// The first token at or after the byte `from`, which is one past a token, or 0.
    pub(super) fn after(text: &'t str, from: usize) -> Self {
        let rest = text[from..].trim_start();
        let start = text.len() - rest.len();
        let (kind, len) = match rest.chars().next() {
            None => (Kind::End, 0),
            Some(first) if first.is_ascii_digit() => (Kind::Number, number(rest)),
            Some('-') if number(&rest[1..]) > 0 => (Kind::Negative, 1 + number(&rest[1..])),
            Some(first) if first.is_alphabetic() => {
                (Kind::Word, run(rest, |c| c.is_alphanumeric() || c == '-'))
            }
            Some(first) => (Kind::Symbol, first.len_utf8()),
        };
        Self { kind, start, text: &rest[..len] }
    }

    /// One past its last byte.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// How many bytes at the beginning are such characters.
fn run(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// How many bytes at the beginning are a number. A point without a digit behind is no part of it.
fn number(text: &str) -> usize {
    let digits = |text: &str| {
        let starts = text.starts_with(|c: char| c.is_ascii_digit());
        if starts { run(text, |c| c.is_ascii_digit() || c == '_') } else { 0 }
    };
    let whole = digits(text);
    match text[whole..].strip_prefix('.').map(digits) {
        Some(fraction) if whole > 0 && fraction > 0 => whole + 1 + fraction,
        _ => whole,
    }
}
