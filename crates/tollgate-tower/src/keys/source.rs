//! How a key is made of a request.

use std::fmt;
use std::sync::Arc;

use http::HeaderName;
use http::request::Parts;

use super::client::ClientAddress;
use super::error::{KeyError, header_name};
use super::key::{Key, Prefixes};

type Find = dyn Fn(&Parts, &mut Key) -> Option<()> + Send + Sync;

const PEER_NEEDED: &str = "the peer's address in the request's extensions, as `PeerAddr` or, with the feature `axum`, by \
     `into_make_service_with_connect_info::<SocketAddr>()`";

/// How a key is made of a request: from the client's address, a header, an extension, by a closure, or of several.
///
/// ```
/// use tollgate_tower::keys::{ClientAddress, KeySource};
/// # #[derive(Clone)]
/// # struct User { name: String }
///
/// let per_address = KeySource::peer();
/// let per_client = KeySource::address(ClientAddress::behind(["10.0.0.0/8"])?);
/// let per_api_key = KeySource::header("x-api-key")?;
/// let per_user = KeySource::extension(|user: &User| Some(user.name.clone()));
/// let per_user_and_address = per_user.and(per_address);
/// let per_tenant = KeySource::by(|request| request.uri.path().split('/').nth(1).map(str::to_owned));
/// # Ok::<(), tollgate_tower::keys::KeyError>(())
/// ```
#[derive(Clone)]
pub struct KeySource(Kind);

#[derive(Clone)]
enum Kind {
    Fixed,
    Address(ClientAddress, Prefixes),
    Header(HeaderName),
    By(Arc<Find>),
    All(Vec<KeySource>),
}

impl KeySource {
    /// One key for all requests.
    pub fn fixed() -> Self {
        Self(Kind::Fixed)
    }

    /// The peer's address: see [`address`](Self::address).
    pub fn peer() -> Self {
        Self::address(ClientAddress::peer())
    }

    /// The client's address: of IPv6 the first 64 bits, which one subscriber has at least.
    pub fn address(client: ClientAddress) -> Self {
        Self(Kind::Address(client, Prefixes::default()))
    }

    /// Of IPv6 so many bits count, 1 to 128. No effect on keys without an address.
    ///
    /// # Errors
    ///
    /// [`KeyError::PrefixLength`] outside of that.
    pub fn ipv6_prefix(self, bits: u8) -> Result<Self, KeyError> {
        checked(bits, 128)?;
        Ok(self.with_prefixes(&|prefixes| prefixes.v6 = bits))
    }

    /// Of IPv4 so many bits count, 1 to 32. No effect on keys without an address.
    ///
    /// # Errors
    ///
    /// [`KeyError::PrefixLength`] outside of that.
    pub fn ipv4_prefix(self, bits: u8) -> Result<Self, KeyError> {
        checked(bits, 32)?;
        Ok(self.with_prefixes(&|prefixes| prefixes.v4 = bits))
    }

    /// The value of a header, an API key. Without it, and if it is empty or there are two of it, there is no key: which
    /// of two the application takes is not known here.
    ///
    /// A client can make up keys that nobody has issued, and has a fresh limit with each: limit by address too.
    ///
    /// # Errors
    ///
    /// [`KeyError::HeaderName`] if it is no header's name.
    pub fn header(name: &str) -> Result<Self, KeyError> {
        header_name(name).map(|name| Self(Kind::Header(name)))
    }

    /// What a layer outside of this one has put into the request's extensions: the user, once known.
    pub fn extension<T, K>(key: impl Fn(&T) -> Option<K> + Send + Sync + 'static) -> Self
    where
        T: Clone + Send + Sync + 'static,
        K: AsRef<[u8]>,
    {
        Self::by(move |request| request.extensions.get::<T>().and_then(&key))
    }

    /// What this finds; `None` is no key.
    pub fn by<K: AsRef<[u8]>>(key: impl Fn(&Parts) -> Option<K> + Send + Sync + 'static) -> Self {
        let find = move |request: &Parts, made: &mut Key| {
            made.push(key(request)?.as_ref());
            Some(())
        };
        Self(Kind::By(Arc::new(find)))
    }

    /// This key and another: both have to be there, and both to be equal.
    pub fn and(self, other: Self) -> Self {
        match self.0 {
            Kind::All(mut all) => {
                all.push(other);
                Self(Kind::All(all))
            }
            one => Self(Kind::All(vec![Self(one), other])),
        }
    }

    /// The key of a request, if it has one.
    pub fn of(&self, request: &Parts) -> Option<Key> {
        let mut key = Key::new();
        self.add(request, &mut key)?;
        Some(key)
    }

    fn add(&self, request: &Parts, key: &mut Key) -> Option<()> {
        match &self.0 {
            Kind::Fixed => Some(()),
            Kind::Address(client, prefixes) => {
                key.push_address(client.of(request)?, *prefixes);
                Some(())
            }
            Kind::Header(name) => {
                let mut lines = request.headers.get_all(name).into_iter();
                let value = lines.next().filter(|value| !value.is_empty())?;
                if lines.next().is_some() {
                    return None;
                }
                key.push(value.as_bytes());
                Some(())
            }
            Kind::By(find) => find(request, key),
            Kind::All(all) => all.iter().try_for_each(|source| source.add(request, key)),
        }
    }

    /// Whether both make the same keys, as far as can be told: closures are the same if they are clones.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Fixed, Kind::Fixed) => true,
            (Kind::Address(one, prefixes), Kind::Address(another, others)) => {
                one == another && prefixes == others
            }
            (Kind::Header(one), Kind::Header(another)) => one == another,
            (Kind::By(one), Kind::By(another)) => Arc::ptr_eq(one, another),
            (Kind::All(one), Kind::All(another)) => {
                one.len() == another.len()
                    && one.iter().zip(another).all(|(one, another)| one.is_same(another))
            }
            _ => false,
        }
    }

    /// What is missing in a request without a key, for the message.
    pub(crate) fn needs(&self) -> String {
        match &self.0 {
            Kind::Fixed => "nothing".to_owned(),
            Kind::Address(..) => PEER_NEEDED.to_owned(),
            Kind::Header(name) => format!("the header `{name}`, once"),
            Kind::By(_) => "what its closure looks for in the request".to_owned(),
            Kind::All(all) => all.iter().map(Self::needs).collect::<Vec<_>>().join("; and "),
        }
    }

    fn with_prefixes(mut self, change: &dyn Fn(&mut Prefixes)) -> Self {
        match &mut self.0 {
            Kind::Address(_, prefixes) => change(prefixes),
            Kind::All(all) => {
                *all = std::mem::take(all).into_iter().map(|source| source.with_prefixes(change)).collect();
            }
            Kind::Fixed | Kind::Header(_) | Kind::By(_) => {}
        }
        self
    }
}

fn checked(bits: u8, max: u8) -> Result<(), KeyError> {
    if (1..=max).contains(&bits) { Ok(()) } else { Err(KeyError::PrefixLength { bits, max }) }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Fixed => f.write_str("Fixed"),
            Kind::Address(client, prefixes) => {
                f.debug_tuple("Address").field(client).field(prefixes).finish()
            }
            Kind::Header(name) => f.debug_tuple("Header").field(name).finish(),
            Kind::By(_) => f.write_str("By(..)"),
            Kind::All(all) => f.debug_tuple("All").field(all).finish(),
        }
    }
}
