//! Addresses as proxies write them: with ports, brackets, zones, and IPv4 inside of IPv6.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The address in one element of `X-Forwarded-For` or in a header of one address; `None` if it is none.
///
/// Read are `192.0.2.1`, `192.0.2.1:1001`, `2001:db8::1`, `[2001:db8::1]` and `[2001:db8::1]:443`, IPv6 with a zone too.
/// Port and zone are dropped, and `::ffff:192.0.2.1` is `192.0.2.1`: they say how a client comes, not who it is.
pub(super) fn parse(element: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(element).ok()?.trim_matches([' ', '\t']);
    let address = match text.strip_prefix('[') {
        Some(rest) => {
            let (inside, port) = rest.split_once(']')?;
            if !port.is_empty() {
                is_port(port.strip_prefix(':')?).then_some(())?;
            }
            IpAddr::V6(v6(inside)?)
        }
        // One colon parts a port from IPv4; IPv6 has more.
        None => match text.split_once(':') {
            Some((before, port)) if !port.contains(':') => {
                is_port(port).then_some(())?;
                IpAddr::V4(before.parse().ok()?)
            }
            Some(_) => IpAddr::V6(v6(text)?),
            None => IpAddr::V4(text.parse().ok()?),
        },
    };
    Some(address.to_canonical())
}

/// Without the zone, which names an interface of the host that wrote it.
fn v6(text: &str) -> Option<Ipv6Addr> {
    match text.split_once('%') {
        Some((_, "")) => None,
        Some((address, _)) => address.parse().ok(),
        None => text.parse().ok(),
    }
}

/// A number, or the obfuscated identifier that RFC 7239 allows in its place.
fn is_port(text: &str) -> bool {
    match text.strip_prefix('_') {
        Some(name) => {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        }
        None => !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u16>().is_ok(),
    }
}

/// The address of a peer, which may listen on IPv6 for IPv4 too.
pub(super) fn of_peer(peer: SocketAddr) -> IpAddr {
    peer.ip().to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_brackets_zones_and_mapped_addresses_are_dropped() {
        for (text, address) in [
            ("9.9.9.9", "9.9.9.9"),
            (" 9.9.9.9\t", "9.9.9.9"),
            ("9.9.9.9:1001", "9.9.9.9"),
            ("::ffff:9.9.9.9", "9.9.9.9"),
            ("[::ffff:9.9.9.9]:80", "9.9.9.9"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[2001:db8::1]:_hidden", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"),
            ("[fe80::1%25eth0]:443", "fe80::1"),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(address.parse().expect(address)), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in [
            "",
            " ",
            "unknown",
            "_hidden",
            "localhost",
            "9.9.9",
            "9.9.9.9.9",
            "09.9.9.9",
            "9.9.9.9:",
            "9.9.9.9:x",
            "9.9.9.9:65536",
            "9.9.9.9:+80",
            "9.9.9.9 8.8.8.8",
            "[9.9.9.9]",
            "[2001:db8::1",
            "2001:db8::1]",
            "[2001:db8::1]443",
            "[2001:db8::1]:",
            "fe80::1%",
            "2001:db8::1::2",
            "\"9.9.9.9\"",
            "9.9.9.9/32",
            "-1",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"9.9.9.9\xff"), None);
    }
}
