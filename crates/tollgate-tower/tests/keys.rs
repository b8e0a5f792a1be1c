//! Keys: who is told apart from whom, and that no header that a client makes up tells it apart from itself.

use std::net::{IpAddr, SocketAddr};

use http::Request;
use http::request::Parts;
use proptest::prelude::*;
use tollgate_tower::keys::{ClientAddress, KeyError, KeySource, NetworkError, PeerAddr};

/// A request from a peer, with these lines of headers.
fn from(peer: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().uri("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (mut parts, ()) = request.body(()).expect("a request").into_parts();
    let peer: SocketAddr = if peer.contains('[') || peer.matches(':').count() == 1 {
        peer.parse().expect("an address")
    } else {
        SocketAddr::new(peer.parse().expect("an address"), 50_000)
    };
    parts.extensions.insert(PeerAddr(peer));
    parts
}

fn client(source: &ClientAddress, request: &Parts) -> String {
    source.of(request).expect("a peer").to_string()
}

fn behind(networks: &[&str]) -> ClientAddress {
    ClientAddress::behind(networks.iter().copied()).expect("networks")
}

fn hops(hops: usize) -> ClientAddress {
    ClientAddress::behind_hops(hops).expect("some")
}

const XFF: &str = "x-forwarded-for";

#[test]
fn through_one_trusted_hop_the_last_address_is_the_client_and_junk_before_it_is_not_looked_at() {
    for first in ["junk", "1.2.3.4", "\"", "", "é"] {
        let list = format!("{first}, 9.9.9.9");
        assert_eq!(client(&hops(1), &from("10.0.0.1", &[(XFF, &list)])), "9.9.9.9", "{first}");
        assert_eq!(
            client(&behind(&["10.0.0.0/8"]), &from("10.0.0.1", &[(XFF, &list)])),
            "9.9.9.9",
            "{first}"
        );
    }
}

#[test]
fn what_an_untrusted_peer_tells_is_not_believed() {
    let told = [(XFF, "1.2.3.4"), ("forwarded", "for=1.2.3.4"), ("cf-connecting-ip", "1.2.3.4")];
    let request = from("8.8.8.8", &told);
    let trusted = behind(&["10.0.0.0/8"]);
    let at_a_cdn = trusted.clone().from_header("CF-Connecting-IP").expect("a name");
    for source in [ClientAddress::peer(), trusted.clone(), trusted.forwarded(), at_a_cdn] {
        assert_eq!(client(&source, &request), "8.8.8.8", "{source:?}");
    }
}

#[test]
fn ports_do_not_make_a_client_another() {
    let list = |told: &str| client(&hops(1), &from("10.0.0.1", &[(XFF, told)]));
    assert_eq!((list("9.9.9.9:1001"), list("9.9.9.9:1002")), (list("9.9.9.9"), "9.9.9.9".to_owned()));
    let peer = |peer: &str| client(&ClientAddress::peer(), &from(peer, &[]));
    assert_eq!(peer("9.9.9.9:1001"), peer("9.9.9.9:1002"));
}

#[test]
fn the_header_in_several_lines_is_one_list() {
    let one = from("10.0.0.1", &[(XFF, "6.6.6.6, 9.9.9.9, 10.0.0.2")]);
    let two = from("10.0.0.1", &[(XFF, "6.6.6.6, 9.9.9.9"), (XFF, "10.0.0.2")]);
    let three = from("10.0.0.1", &[(XFF, "6.6.6.6"), (XFF, "9.9.9.9"), (XFF, "10.0.0.2")]);
    for request in [one, two, three] {
        assert_eq!(client(&behind(&["10.0.0.0/8"]), &request), "9.9.9.9");
        assert_eq!(client(&hops(2), &request), "9.9.9.9");
        assert_eq!(client(&hops(1), &request), "10.0.0.2");
    }
}

#[test]
fn trusted_addresses_are_walked_over_from_the_right() {
    let docker = behind(&["172.16.0.0/12"]);
    assert_eq!(client(&docker, &from("172.17.0.9", &[(XFF, "1.2.3.4, 172.17.0.1")])), "1.2.3.4");
    assert_eq!(client(&docker, &from("172.17.0.9", &[(XFF, "6.6.6.6, 1.2.3.4, 172.17.0.1")])), "1.2.3.4");
    assert_eq!(client(&docker, &from("172.17.0.9", &[(XFF, "172.17.0.7, 172.17.0.1")])), "172.17.0.7");
    assert_eq!(client(&docker, &from("172.17.0.9", &[])), "172.17.0.9");
}

#[test]
fn what_is_no_address_ends_the_walk_at_the_last_trusted_one() {
    let docker = behind(&["172.16.0.0/12"]);
    for junk in ["junk", "", "unknown", "_hidden", "1.2.3", "1.2.3.4:99999", "1.2.3.4 ; x"] {
        let rightmost = format!("1.2.3.4, {junk}");
        assert_eq!(client(&docker, &from("172.17.0.9", &[(XFF, &rightmost)])), "172.17.0.9", "{junk:?}");
        assert_eq!(client(&hops(1), &from("172.17.0.9", &[(XFF, &rightmost)])), "172.17.0.9", "{junk:?}");
        let behind_another = format!("1.2.3.4, {junk}, 172.17.0.1");
        assert_eq!(client(&docker, &from("172.17.0.9", &[(XFF, &behind_another)])), "172.17.0.1", "{junk:?}");
        assert_eq!(
            client(&hops(2), &from("172.17.0.9", &[(XFF, &behind_another)])),
            "172.17.0.1",
            "{junk:?}"
        );
    }
}

#[test]
fn a_request_that_came_through_fewer_hops_is_its_peers() {
    assert_eq!(client(&hops(2), &from("10.0.0.1", &[(XFF, "1.2.3.4")])), "10.0.0.1");
    assert_eq!(client(&hops(1), &from("10.0.0.1", &[])), "10.0.0.1");
}

#[test]
fn forwarded_is_read_with_its_quotes_brackets_and_ports() {
    let source = behind(&["10.0.0.0/8"]).forwarded();
    let told = |text: &str| client(&source, &from("10.0.0.1", &[("forwarded", text)]));
    assert_eq!(told("for=\"[2001:db8::1]:443\""), "2001:db8::1");
    assert_eq!(told("for=\"[2001:db8::1]:444\""), "2001:db8::1");
    assert_eq!(told("for=6.6.6.6;proto=https, FOR=9.9.9.9;by=10.0.0.1, for=10.0.0.7"), "9.9.9.9");
    for none in [
        "for=unknown",
        "for=_hidden",
        "for=\"_hidden:80\"",
        "proto=https",
        "for=1.2.3.4;for=1.2.3.5",
        "for=\"1.2.3.4",
    ] {
        assert_eq!(told(none), "10.0.0.1", "{none}");
    }
    let lines = from(
        "10.0.0.1",
        &[("forwarded", "for=6.6.6.6"), ("forwarded", "for=9.9.9.9"), ("forwarded", "for=10.0.0.2")],
    );
    assert_eq!(client(&source, &lines), "9.9.9.9");
    // Left open by the client; what its proxy added is in the same line, or in the next.
    let open = |lines: &[(&str, &str)]| client(&source, &from("10.0.0.1", lines));
    assert_eq!(open(&[("forwarded", "for=6.6.6.6, for=\"x, for=9.9.9.9")]), "10.0.0.1");
    assert_eq!(open(&[("forwarded", "for=6.6.6.6, for=\"x"), ("forwarded", "for=9.9.9.9")]), "9.9.9.9");
}

#[test]
fn one_trusted_header_counts_once_and_from_a_trusted_peer() {
    let source = behind(&["10.0.0.0/8"]).from_header("cf-connecting-ip").expect("a name");
    let told = |peer: &str, values: &[&str]| {
        let lines: Vec<_> = values.iter().map(|value| ("cf-connecting-ip", *value)).collect();
        client(&source, &from(peer, &lines))
    };
    assert_eq!(told("10.0.0.1", &["9.9.9.9"]), "9.9.9.9");
    assert_eq!(told("10.0.0.1", &["[2001:db8::1]:443"]), "2001:db8::1");
    assert_eq!(told("10.0.0.1", &["9.9.9.9", "1.2.3.4"]), "10.0.0.1");
    assert_eq!(told("10.0.0.1", &["9.9.9.9, 1.2.3.4"]), "10.0.0.1");
    assert_eq!(told("10.0.0.1", &[]), "10.0.0.1");
    assert_eq!(told("8.8.8.8", &["9.9.9.9"]), "8.8.8.8");
}

#[test]
fn ipv6_is_one_client_by_its_prefix_and_mapped_addresses_are_ipv4() {
    let peer = KeySource::peer();
    let key = |source: &KeySource, address: &str| source.of(&from(address, &[])).expect("a key");
    assert_eq!(key(&peer, "2001:db8::1"), key(&peer, "2001:db8::2"));
    assert_eq!(key(&peer, "2001:db8::1"), key(&peer, "2001:db8:0:0:ffff::"));
    assert_ne!(key(&peer, "2001:db8::1"), key(&peer, "2001:db8:0:1::1"));
    assert_eq!(key(&peer, "::ffff:9.9.9.9"), key(&peer, "9.9.9.9"));
    assert_eq!(key(&peer, "[2001:db8::1]:443"), key(&peer, "[2001:db8::1]:444"));
    assert_ne!(key(&peer, "9.9.9.9"), key(&peer, "9.9.9.8"));

    let wide = KeySource::peer().ipv6_prefix(56).and_then(|source| source.ipv4_prefix(24)).expect("prefixes");
    assert_eq!(key(&wide, "2001:db8:0:ff::1"), key(&wide, "2001:db8::1"));
    assert_ne!(key(&wide, "2001:db8:0:100::1"), key(&wide, "2001:db8::1"));
    assert_eq!(key(&wide, "9.9.9.9"), key(&wide, "9.9.9.8"));
    let narrow = KeySource::peer().ipv6_prefix(128).expect("a prefix");
    assert_ne!(key(&narrow, "2001:db8::1"), key(&narrow, "2001:db8::2"));
    let one = KeySource::peer().ipv6_prefix(1).and_then(|source| source.ipv4_prefix(1)).expect("prefixes");
    assert_ne!(key(&one, "127.0.0.1"), key(&one, "128.0.0.1"));
}

#[derive(Clone)]
struct User(&'static str);

#[test]
fn keys_come_from_headers_extensions_closures_and_combinations() {
    let header = KeySource::header("X-Api-Key").expect("a name");
    let user = KeySource::extension(|user: &User| Some(user.0));
    let path = KeySource::by(|request| Some(request.uri.path().to_owned()));
    let both = user.clone().and(header.clone()).and(KeySource::peer());
    let of = |source: &KeySource, api_key: &[&str], name: Option<&'static str>| {
        let lines: Vec<_> = api_key.iter().map(|value| ("x-api-key", *value)).collect();
        let mut request = from("9.9.9.9", &lines);
        if let Some(name) = name {
            request.extensions.insert(User(name));
        }
        source.of(&request)
    };
    assert_eq!(of(&header, &["a"], None), of(&header, &["a"], Some("alice")));
    assert_ne!(of(&header, &["a"], None), of(&header, &["A"], None));
    for none in [&[][..], &[""], &["a", "b"], &["a", "a"]] {
        assert_eq!(of(&header, none, None), None, "{none:?}");
    }
    assert_ne!(of(&user, &[], Some("alice")), of(&user, &[], Some("bob")));
    assert_eq!(of(&user, &[], None), None);
    assert!(of(&path, &[], None).is_some());
    assert_ne!(
        of(&both, &["a"], Some("bc")),
        of(&both, &["ca"], Some("b")),
        "parts do not run into each other"
    );
    assert_eq!(of(&both, &[], Some("alice")), None, "all parts have to be there");
    assert_eq!(of(&KeySource::fixed(), &["a"], None), of(&KeySource::fixed(), &[], Some("bob")));
}

/// A server's own.
#[derive(Clone)]
struct Accepted(SocketAddr);

#[test]
fn without_a_peer_there_is_no_address_and_it_can_be_found_elsewhere() {
    let (mut request, ()) = Request::new(()).into_parts();
    assert_eq!(ClientAddress::peer().of(&request), None);
    assert_eq!(KeySource::peer().of(&request), None);
    let found =
        ClientAddress::peer().peer_from(|request| request.extensions.get::<Accepted>().map(|from| from.0));
    request.extensions.insert(Accepted("9.9.9.9:1".parse().expect("an address")));
    assert_eq!(client(&found, &request), "9.9.9.9");
}

#[cfg(feature = "axum")]
#[test]
fn axums_peer_is_found() {
    let (mut request, ()) = Request::new(()).into_parts();
    let peer: SocketAddr = "9.9.9.9:1".parse().expect("an address");
    request.extensions.insert(axum::extract::ConnectInfo(peer));
    assert_eq!(client(&ClientAddress::peer(), &request), "9.9.9.9");
}

#[test]
fn what_is_unusable_is_refused_and_says_why() {
    let message = |error: KeyError| error.to_string();
    assert_eq!(
        ClientAddress::behind(["10.0.0.0/8", "10.0.0.0/33"]).map_err(message).err().as_deref(),
        Some("expected a network such as `10.0.0.0/8` or an address instead of `10.0.0.0/33`")
    );
    assert!(matches!(
        ClientAddress::behind(["10.0.0.1/8"]),
        Err(KeyError::Network(NetworkError::BitsBeyondPrefix { .. }))
    ));
    assert_eq!(ClientAddress::behind_hops(0).err(), Some(KeyError::NoHops));
    assert_eq!(
        KeySource::header("x api key").map_err(message).err().as_deref(),
        Some("expected a header's name such as `x-api-key` instead of `x api key`")
    );
    assert!(matches!(ClientAddress::peer().from_header(""), Err(KeyError::HeaderName { .. })));
    for (bits, source) in [(0, KeySource::peer().ipv6_prefix(0)), (129, KeySource::peer().ipv6_prefix(129))] {
        assert_eq!(source.err(), Some(KeyError::PrefixLength { bits, max: 128 }));
    }
    assert_eq!(KeySource::peer().ipv4_prefix(33).err(), Some(KeyError::PrefixLength { bits: 33, max: 32 }));
}

/// Whatever a client may send as a header's value.
fn junk() -> impl Strategy<Value = Vec<u8>> {
    let bytes = proptest::collection::vec(prop_oneof![Just(b'\t'), 0x20_u8..=0x7e, 0x80_u8..=0xff], 0..40);
    let pieces = [
        "for=",
        "\"",
        ",",
        ";",
        "=",
        "[",
        "]",
        ":",
        "1.2.3.4",
        "10.0.0.5",
        "2001:db8::1",
        "%",
        "\\",
        "unknown",
        " ",
        "by=",
        "::ffff:1.2.3.4",
    ];
    let texts = proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..12);
    prop_oneof![bytes, texts.prop_map(|texts| texts.concat().into_bytes())]
}

fn with_lines(peer: &str, name: &str, lines: &[Vec<u8>]) -> Parts {
    let mut request = Request::builder();
    for line in lines {
        request = request.header(name, line.as_slice());
    }
    let (mut parts, ()) = request.body(()).expect("a request").into_parts();
    parts.extensions.insert(PeerAddr(SocketAddr::new(peer.parse().expect("an address"), 1)));
    parts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A client that sends what it likes reaches the server through a proxy that adds the client's address. It is always
    /// the same client, or is counted with all others of that proxy.
    #[test]
    fn nothing_a_client_sends_makes_it_another(
        lines in proptest::collection::vec(junk(), 0..4),
        is_own_line in any::<bool>(),
        form in 0..4_u8,
    ) {
        let client: IpAddr = "9.9.9.9".parse().expect("an address");
        let (name, added) = match form {
            0 => ("x-forwarded-for", "9.9.9.9"),
            1 => ("x-forwarded-for", "9.9.9.9:1234"),
            2 => ("forwarded", "for=9.9.9.9"),
            _ => ("forwarded", "for=\"9.9.9.9:1234\";proto=https"),
        };
        let in_line_of_its_own = form < 2 || is_own_line || lines.is_empty();
        let mut sent = lines;
        match sent.last_mut() {
            Some(last) if !is_own_line => {
                last.extend_from_slice(b", ");
                last.extend_from_slice(added.as_bytes());
            }
            _ => sent.push(added.into()),
        }
        let request = with_lines("10.0.0.1", name, &sent);
        let proxy: IpAddr = "10.0.0.1".parse().expect("an address");
        for source in [behind(&["10.0.0.1"]), hops(1)] {
            let source = if form < 2 { source } else { source.forwarded() };
            let told = source.of(&request).expect("a peer");
            prop_assert!(told == client || (told == proxy && !in_line_of_its_own), "{told}");
        }
    }

    /// From a peer that is not trusted nothing is believed; and whatever is sent, nothing panics.
    #[test]
    fn nothing_a_stranger_sends_is_believed(lines in proptest::collection::vec(junk(), 0..4)) {
        for name in ["x-forwarded-for", "forwarded", "x-real-ip"] {
            let request = with_lines("8.8.8.8", name, &lines);
            let trusted = behind(&["10.0.0.0/8"]);
            let header = trusted.clone().from_header(name).expect("a name");
            for source in [trusted.clone(), trusted.clone().forwarded(), header, ClientAddress::peer()] {
                prop_assert_eq!(client(&source, &request), "8.8.8.8");
            }
            for source in [hops(1), hops(3), hops(1).forwarded(), hops(1).from_header(name).expect("a name")] {
                prop_assert!(source.of(&request).is_some());
            }
        }
    }
}
