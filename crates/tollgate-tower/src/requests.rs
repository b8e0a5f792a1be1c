//! Requests that limits do not count, or that are refused in any case.

use std::fmt;
use std::sync::Arc;

use http::request::Parts;

use crate::keys::{ClientAddress, KeyError, KeySource, Network, is_in_any};

/// A list of requests: by address, by a header's value, by a closure.
///
/// ```
/// use tollgate_tower::Requests;
/// use tollgate_tower::keys::ClientAddress;
///
/// let monitoring = Requests::from_networks(ClientAddress::peer(), ["10.1.0.0/16", "192.0.2.7"])?;
/// let partners = Requests::with_header("x-api-key", ["k-17", "k-18"])?;
/// let health = Requests::when(|request| request.uri.path() == "/health");
/// # Ok::<(), tollgate_tower::keys::KeyError>(())
/// ```
#[derive(Clone)]
pub struct Requests(Arc<dyn Fn(&Parts) -> bool + Send + Sync>);

impl Requests {
    /// Those whose client's address is in one of these networks. One whose address is not known is in none.
    ///
    /// # Errors
    ///
    /// [`KeyError::Network`] for one that is none.
    pub fn from_networks<'a>(
        client: ClientAddress,
        networks: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, KeyError> {
        let networks = networks.into_iter().map(str::parse).collect::<Result<Vec<Network>, _>>()?;
        Ok(Self::when(move |request| client.of(request).is_some_and(|address| is_in_any(&networks, address))))
    }

    /// Those with this header, once and with one of these values.
    ///
    /// # Errors
    ///
    /// [`KeyError::HeaderName`] if it is no header's name.
    pub fn with_header<V: AsRef<[u8]>>(
        name: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, KeyError> {
        let source = KeySource::header(name)?;
        let keys: Vec<_> =
            values.into_iter().map(|value| crate::keys::Key::of_part(value.as_ref())).collect();
        Ok(Self::when(move |request| source.of(request).is_some_and(|key| keys.contains(&key))))
    }

    /// Those of which this is true.
    pub fn when(is_one: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_one))
    }

    pub(crate) fn has(&self, request: &Parts) -> bool {
        (self.0)(request)
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Requests(..)")
    }
}
