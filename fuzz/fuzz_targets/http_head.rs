//! What clients write into the headers that keys are made of, and what operators write into policy files: nothing
//! panics, nobody is taken for another, and a mistake in a file is at a place in it.

#![no_main]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use libfuzzer_sys::fuzz_target;
use tollgate_tower::Limits;
use tollgate_tower::file::{KeyNames, PolicyFile};
use tollgate_tower::keys::{ClientAddress, KeySource, PeerAddr};

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(9, 9, 9, 9));
const PROXY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

const FORMS: [(&str, &[u8]); 4] = [
    ("x-forwarded-for", b"9.9.9.9"),
    ("x-forwarded-for", b"[::ffff:9.9.9.9]:443"),
    ("forwarded", b"for=9.9.9.9"),
    ("forwarded", b"proto=https;for=\"9.9.9.9:443\""),
];

fn request(peer: IpAddr, name: &str, lines: &[Vec<u8>]) -> Option<http::request::Parts> {
    let mut request = http::Request::builder();
    for line in lines {
        request = request.header(name, line.as_slice());
    }
    let (mut parts, ()) = request.body(()).ok()?.into_parts();
    parts.extensions.insert(PeerAddr(SocketAddr::new(peer, 1)));
    Some(parts)
}

fn behind_proxy() -> [ClientAddress; 2] {
    let networks = ClientAddress::behind(["10.0.0.1"]).expect("an address");
    [networks, ClientAddress::behind_hops(1).expect("a hop")]
}

/// A client's lines reach the server through a proxy, which adds the client's address to the last one or in one of its own.
fn through_a_proxy(lines: &[Vec<u8>], name: &str, added: &[u8]) {
    let is_list = name == "x-forwarded-for";
    let mut own_line = lines.to_vec();
    own_line.push(added.to_vec());
    let mut same_line = lines.to_vec();
    if let Some(last) = same_line.last_mut() {
        last.extend_from_slice(b", ");
        last.extend_from_slice(added);
    }
    for (lines, may_be_hidden) in [(own_line, false), (same_line, true)] {
        if lines.is_empty() {
            continue;
        }
        let Some(request) = request(PROXY, name, &lines) else { return };
        for source in behind_proxy() {
            let source = if is_list { source } else { source.forwarded() };
            let told = source.of(&request);
            // A quoted string that is left open hides what follows it, and the proxy is taken for the client.
            let is_hidden = may_be_hidden && !is_list && told == Some(PROXY);
            assert!(told == Some(CLIENT) || is_hidden, "{told:?}: {lines:?}");
        }
    }
}

/// From a peer that is not trusted nothing is believed; of one that is, whatever is read is a key.
fn from_a_stranger(lines: &[Vec<u8>], name: &str) {
    let Some(request) = request(CLIENT, name, lines) else { return };
    let [networks, hops] = behind_proxy();
    let header = networks.clone().from_header(name).expect("a name");
    for source in [networks.clone(), networks.forwarded(), header] {
        assert_eq!(source.of(&request), Some(CLIENT), "{lines:?}");
    }
    for source in [hops.clone(), hops.clone().forwarded(), hops.from_header(name).expect("a name")] {
        assert!(KeySource::address(source).of(&request).is_some());
    }
    let is_one = lines.len() == 1 && !lines[0].is_empty();
    let api_key = KeySource::header(name).expect("a name").of(&request);
    assert!(api_key.is_none() || is_one, "{lines:?}");
}

fn file(text: &str) {
    is_told_with_its_place(text, false);
    // As the quota, the name, the key and the route of a policy. A log may want more memory than there is.
    let quoted = text.escape_default().to_string().replace("\\'", "'");
    let policy = |name: &str, key: &str, quota: &str| {
        format!(
            "[[policy]]\nkeys = 10\nname = \"{name}\"\nroute = \"{name}\"\nkey = \"{key}\"\nquota = \"{quota}\""
        )
    };
    is_told_with_its_place(&policy("/a", "peer", &quoted), !quoted.contains("log"));
    is_told_with_its_place(&policy(&quoted, "peer", "1/s"), true);
    is_told_with_its_place(&policy("/a", &quoted, "1/s"), true);
}

fn is_told_with_its_place(text: &str, is_built: bool) {
    let error = match PolicyFile::parse(text, &KeyNames::default()) {
        Ok(file) if is_built => file.build(Limits::builder()).err(),
        Ok(_) => None,
        Err(error) => Some(error),
    };
    if let Some(error) = error {
        assert!((1..=1 + text.matches('\n').count()).contains(&error.line()), "{error}");
        assert!((1..=1 + text.chars().count()).contains(&error.column()), "{error}");
        assert!(!error.to_string().is_empty());
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((form, rest)) = bytes.split_first() else { return };
    let (name, added) = FORMS[usize::from(*form) % FORMS.len()];
    let lines: Vec<Vec<u8>> = rest.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    through_a_proxy(&lines, name, added);
    from_a_stranger(&lines, name);
    file(&String::from_utf8_lossy(rest));
});
