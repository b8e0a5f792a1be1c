//! The header `Forwarded` of RFC 7239.

use std::net::IpAddr;

use super::address;

/// The address in each element of one line, first to last; `None` for one without, such as `for=unknown`.
///
/// A quoted string that does not end swallows the rest of its line: what is in there may be written by a client, what
/// it swallowed was not, so there is no address from there on.
pub(super) fn line(line: &[u8]) -> Vec<Option<IpAddr>> {
    split(line, b',').into_iter().map(|element| element.and_then(address_in)).collect()
}

/// The address of the element's one `for`.
fn address_in(element: &[u8]) -> Option<IpAddr> {
    let mut found = None;
    for pair in split(element, b';') {
        let pair = pair?.trim_ascii();
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&pair[..equals], &pair[equals + 1..]);
        if name.eq_ignore_ascii_case(b"for") && found.replace(unquoted(value)?).is_some() {
            return None;
        }
    }
    address::parse(&found?)
}

/// What is between separators outside of quoted strings. The last is `None` if a quoted string does not end.
fn split(bytes: &[u8], separator: u8) -> Vec<Option<&[u8]>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            byte if *byte == separator && !is_quoted => {
                parts.push(Some(&bytes[start..index]));
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push((!is_quoted).then(|| &bytes[start..]));
    parts
}

/// The value without its quotes and escapes, if it is one token or one quoted string.
fn unquoted(value: &[u8]) -> Option<Vec<u8>> {
    let Some(inside) = value.strip_prefix(b"\"") else {
        return (!value.contains(&b'"')).then(|| value.to_vec());
    };
    let inside = inside.strip_suffix(b"\"")?;
    let (mut text, mut is_escaped) = (Vec::with_capacity(inside.len()), false);
    for byte in inside {
        match byte {
            _ if is_escaped => {
                text.push(*byte);
                is_escaped = false;
            }
            b'\\' => is_escaped = true,
            b'"' => return None,
            _ => text.push(*byte),
        }
    }
    (!is_escaped).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<Option<String>> {
        line(text.as_bytes()).into_iter().map(|address| address.map(|address| address.to_string())).collect()
    }

    #[test]
    fn the_for_of_each_element_is_read_quoted_or_not() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(told("for=\"[2001:db8::1]:443\""), [some("2001:db8::1")]);
        assert_eq!(told("For=192.0.2.43, for=198.51.100.17"), [some("192.0.2.43"), some("198.51.100.17")]);
        assert_eq!(told("by=203.0.113.43;for=192.0.2.60;proto=http"), [some("192.0.2.60")]);
        assert_eq!(
            told("for=\"192.0.2.1:80\" ; host=\"a,b;c\", for=192.0.2.2"),
            [some("192.0.2.1"), some("192.0.2.2")]
        );
        assert_eq!(told(r#"for="192.0.\2.1""#), [some("192.0.2.1")]);
    }

    #[test]
    fn an_element_without_one_address_has_none() {
        for text in [
            "",
            "for=unknown",
            "for=_hidden",
            "for=\"_gazonk\"",
            "proto=http",
            "for=1.1.1.1;for=2.2.2.2",
            "for",
            "for=\"1.1.1.1\"x",
            "for=1.1.1.1;",
        ] {
            assert_eq!(told(text), [None], "{text}");
        }
    }

    #[test]
    fn a_quoted_string_that_a_client_left_open_hides_what_follows_and_forges_nothing() {
        assert_eq!(told("for=6.6.6.6, for=\", for=1.2.3.4").last(), Some(&None));
        assert_eq!(told("for=6.6.6.6;x=\", for=1.2.3.4").last(), Some(&None));
        assert_eq!(told("for=6.6.6.6;x=\"y\\").last(), Some(&None));
        assert_eq!(told("for=\"x, for=\"[2001:db8::1]\"").last(), Some(&None));
        assert_eq!(told("for=\"x\\, for=\"[2001:db8::1]:443\", for=\"9.9.9.9\"").last(), Some(&None));
    }
}
