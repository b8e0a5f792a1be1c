//! Networks in CIDR notation.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};

/// A network in CIDR notation, such as `172.16.0.0/12`, or one address.
///
/// Networks of IPv4 inside of IPv6 (`::ffff:10.0.0.0/104`) are those of IPv4, as such addresses are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network(IpNet);

impl Network {
    /// Whether the address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

/// Whether the address is in one of them.
pub(crate) fn is_in_any(networks: &[Network], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(address))
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        Self(address.to_canonical().into())
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(address.into());
        }
        let net: IpNet = text.parse().map_err(|_| NetworkError::NotANetwork { text: text.into() })?;
        if net.trunc() != net {
            return Err(NetworkError::BitsBeyondPrefix { text: text.into(), network: Self(net.trunc()) });
        }
        let mapped = match net {
            IpNet::V6(net) if net.prefix_len() >= 96 => {
                net.addr().to_ipv4_mapped().and_then(|v4| Ipv4Net::new(v4, net.prefix_len() - 96).ok())
            }
            _ => None,
        };
        Ok(Self(mapped.map_or(net, IpNet::V4)))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a text is no network.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkError {
    /// It is neither an address nor one with a prefix length.
    NotANetwork {
        /// The text.
        text: Box<str>,
    },
    /// The address goes on behind its prefix: one of the two is not what was meant.
    BitsBeyondPrefix {
        /// The text.
        text: Box<str>,
        /// The network that the address is in.
        network: Network,
    },
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANetwork { text } => {
                write!(
                    f,
                    "expected a network such as `10.0.0.0/8` or an address instead of `{}`",
                    text.escape_debug()
                )
            }
            Self::BitsBeyondPrefix { text, network } => {
                write!(f, "`{text}` has bits behind its prefix; write `{network}` or a longer prefix")
            }
        }
    }
}

impl std::error::Error for NetworkError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_addresses_are_read_and_mistakes_told() {
        let network = |text: &str| text.parse::<Network>().map(|network| network.to_string());
        assert_eq!(network("172.16.0.0/12").as_deref(), Ok("172.16.0.0/12"));
        assert_eq!(network("10.1.2.3").as_deref(), Ok("10.1.2.3/32"));
        assert_eq!(network("::ffff:10.0.0.0/104").as_deref(), Ok("10.0.0.0/8"));
        assert_eq!(network("2001:db8::/32").as_deref(), Ok("2001:db8::/32"));
        assert_eq!(
            network("10.0.0.1/8").expect_err("bits").to_string(),
            "`10.0.0.1/8` has bits behind its prefix; write `10.0.0.0/8` or a longer prefix"
        );
        for text in ["", "10.0.0.0/33", "10.0.0.0/", "/8", "2001:db8::/129", "ten", "10.0.0.0/8 "] {
            assert!(matches!(text.parse::<Network>(), Err(NetworkError::NotANetwork { .. })), "{text}");
        }
    }

    #[test]
    fn a_mapped_address_is_in_the_network_of_its_ipv4() {
        let network: Network = "10.0.0.0/8".parse().expect("a network");
        assert!(network.contains("::ffff:10.1.1.1".parse().expect("an address")));
        assert!(!network.contains("11.1.1.1".parse().expect("an address")));
    }
}
