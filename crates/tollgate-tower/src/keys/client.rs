//! Who the client is, when proxies stand in between.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::HeaderName;
use http::request::Parts;

use super::error::KeyError;
use super::network::{Network, is_in_any};
use super::{address, forwarded};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The peer's address, put into a request's extensions by whoever accepts connections.
///
/// With the feature `axum` that is not needed where axum puts its `ConnectInfo<SocketAddr>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// How to find a client's address: the peer's, or, from proxies that are trusted, the one they tell.
///
/// ```
/// use tollgate_tower::keys::ClientAddress;
///
/// let direct = ClientAddress::peer();
/// let behind_our_proxies = ClientAddress::behind(["10.0.0.0/8", "fd00::/8"])?;
/// let behind_one_hop = ClientAddress::behind_hops(1)?;
/// let at_a_cdn = ClientAddress::behind(["173.245.48.0/20"])?.from_header("cf-connecting-ip")?;
/// # Ok::<(), tollgate_tower::keys::KeyError>(())
/// ```
///
/// # What is trusted
///
/// Each proxy adds the address of its own peer at the right end of the header, so only what stands to the right of the
/// first proxy that is not ours is true. The header (all its lines as one list) is walked from right to left, as long
/// as addresses are those of trusted proxies; the first that is not is the client. What is no address ends the walk at
/// the last trusted one, and so at the peer if there was none. The leftmost element is whatever the client wants it to
/// be, and never looked at for itself.
#[derive(Clone)]
pub struct ClientAddress {
    peer: PeerSource,
    trust: Trust,
    told_in: ToldIn,
}

/// Where the peer's address is found.
#[derive(Clone)]
enum PeerSource {
    /// [`PeerAddr`], or where servers that are known put it.
    Known,
    Told(Arc<FindPeer>),
}

type FindPeer = dyn Fn(&Parts) -> Option<SocketAddr> + Send + Sync;

/// Whose word is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Trust {
    Nobody,
    Networks(Vec<Network>),
    /// So many proxies, the peer the first of them.
    Hops(usize),
}

/// What proxies write.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ToldIn {
    XForwardedFor,
    Forwarded,
    /// One address, written by the peer.
    Header(HeaderName),
}

impl ClientAddress {
    /// The peer's own address: nothing that a request says is believed.
    pub fn peer() -> Self {
        Self { peer: PeerSource::Known, trust: Trust::Nobody, told_in: ToldIn::XForwardedFor }
    }

    /// Behind proxies in these networks, which write `X-Forwarded-For`.
    ///
    /// # Errors
    ///
    /// [`KeyError::Network`] for one that is none.
    pub fn behind<'a>(networks: impl IntoIterator<Item = &'a str>) -> Result<Self, KeyError> {
        let networks = networks.into_iter().map(str::parse).collect::<Result<Vec<Network>, _>>()?;
        Ok(Self { trust: Trust::Networks(networks), ..Self::peer() })
    }

    /// Behind exactly so many proxies, which write `X-Forwarded-For`. Whoever can reach the server past them can tell
    /// it any address: see to it that nobody can, or use [`behind`](Self::behind).
    ///
    /// A request with fewer addresses than that did not come through all of them: its client is the peer.
    ///
    /// # Errors
    ///
    /// [`KeyError::NoHops`] for 0.
    pub fn behind_hops(hops: usize) -> Result<Self, KeyError> {
        if hops == 0 {
            return Err(KeyError::NoHops);
        }
        Ok(Self { trust: Trust::Hops(hops), ..Self::peer() })
    }

    /// The proxies write `Forwarded` (RFC 7239).
    pub fn forwarded(mut self) -> Self {
        self.told_in = ToldIn::Forwarded;
        self
    }

    /// The trusted peer writes one address into this header, such as `CF-Connecting-IP`, `Fly-Client-IP` or `X-Real-IP`,
    /// and removes what the client wrote there. Two of them, or none, are not believed.
    ///
    /// # Errors
    ///
    /// [`KeyError::HeaderName`] if it is no header's name.
    pub fn from_header(mut self, name: &str) -> Result<Self, KeyError> {
        self.told_in = ToldIn::Header(super::error::header_name(name)?);
        Ok(self)
    }

    /// Finds the peer's address so, instead of in [`PeerAddr`] and what the features name.
    ///
    /// ```
    /// use tollgate_tower::keys::ClientAddress;
    /// # #[derive(Clone)]
    /// # struct TcpConnectInfo { remote_addr: Option<std::net::SocketAddr> }
    /// // tonic's
    /// let client = ClientAddress::peer()
    ///     .peer_from(|request| request.extensions.get::<TcpConnectInfo>().and_then(|info| info.remote_addr));
    /// ```
    pub fn peer_from(mut self, find: impl Fn(&Parts) -> Option<SocketAddr> + Send + Sync + 'static) -> Self {
        self.peer = PeerSource::Told(Arc::new(find));
        self
    }

    /// The client's address; `None` only if the peer's is not known.
    ///
    /// O(length of the headers), and only what the proxies may have written is looked at.
    pub fn of(&self, request: &Parts) -> Option<IpAddr> {
        let peer = address::of_peer(self.peer.of(request)?);
        let is_peer_trusted = match &self.trust {
            Trust::Nobody => false,
            Trust::Networks(networks) => is_in_any(networks, peer),
            Trust::Hops(_) => true,
        };
        if !is_peer_trusted {
            return Some(peer);
        }
        Some(match &self.told_in {
            ToldIn::XForwardedFor => self.walk(peer, x_forwarded_for(request)),
            ToldIn::Forwarded => self.walk(peer, all_forwarded(request)),
            ToldIn::Header(name) => only_address(request, name).unwrap_or(peer),
        })
    }

    /// From the peer on, over addresses from right to left.
    fn walk(&self, peer: IpAddr, mut told: impl Iterator<Item = Option<IpAddr>>) -> IpAddr {
        match &self.trust {
            Trust::Nobody => peer,
            Trust::Networks(networks) => {
                let mut last = peer;
                while is_in_any(networks, last) {
                    let Some(Some(address)) = told.next() else { break };
                    last = address;
                }
                last
            }
            Trust::Hops(hops) => {
                let mut last = peer;
                for _ in 0..*hops {
                    match told.next() {
                        Some(Some(address)) => last = address,
                        Some(None) => return last,
                        None => return peer,
                    }
                }
                last
            }
        }
    }
}

impl PeerSource {
    fn of(&self, request: &Parts) -> Option<SocketAddr> {
        match self {
            Self::Told(find) => find(request),
            Self::Known => known_peer(request),
        }
    }
}

fn known_peer(request: &Parts) -> Option<SocketAddr> {
    let ours = request.extensions.get::<PeerAddr>().map(|peer| peer.0);
    #[cfg(feature = "axum")]
    let ours = ours.or_else(|| axums_peer(request));
    ours
}

/// The peer that axum has put into the request, or that a test says in its place.
#[cfg(feature = "axum")]
fn axums_peer(request: &Parts) -> Option<SocketAddr> {
    use axum::extract::ConnectInfo;
    use axum::extract::connect_info::MockConnectInfo;

    let connected = request.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    connected.or_else(|| request.extensions.get::<MockConnectInfo<SocketAddr>>().map(|info| info.0))
}

/// All lines as one list, from right to left.
fn x_forwarded_for(request: &Parts) -> impl Iterator<Item = Option<IpAddr>> {
    let lines = request.headers.get_all(X_FORWARDED_FOR).into_iter().rev();
    lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b',')).map(address::parse)
}

/// All lines as one list, from right to left.
fn all_forwarded(request: &Parts) -> impl Iterator<Item = Option<IpAddr>> {
    let lines = request.headers.get_all(http::header::FORWARDED).into_iter().rev();
    lines.flat_map(|line| forwarded::line(line.as_bytes()).into_iter().rev())
}

fn only_address(request: &Parts, name: &HeaderName) -> Option<IpAddr> {
    let mut lines = request.headers.get_all(name).into_iter();
    let (line, others) = (lines.next()?, lines.next());
    if others.is_some() { None } else { address::parse(line.as_bytes()) }
}

impl PartialEq for ClientAddress {
    fn eq(&self, other: &Self) -> bool {
        let same_peer = match (&self.peer, &other.peer) {
            (PeerSource::Known, PeerSource::Known) => true,
            (PeerSource::Told(one), PeerSource::Told(another)) => Arc::ptr_eq(one, another),
            _ => false,
        };
        same_peer && self.trust == other.trust && self.told_in == other.told_in
    }
}

impl fmt::Debug for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientAddress")
            .field("trust", &self.trust)
            .field("told_in", &self.told_in)
            .finish_non_exhaustive()
    }
}
