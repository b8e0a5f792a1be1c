//! Limits for logins and sign-ups.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use tollgate::{AnyAlgorithm, Quota, TokenBucket};

use super::{Counts, MissingKey, Policy};
use crate::keys::KeySource;

const MINUTE: Duration = Duration::from_secs(60);

/// Three limits for where passwords are tried or accounts made: by address and account, by account, and by address, all
/// or nothing, each with a quota of its own.
///
/// - By the account alone, anyone could lock a user out; so the tightest limit is that of one address at one account, and
///   that of the account, which stops many addresses at one account, is wider.
/// - By the address alone, a shared one locks all its users out, and an attacker with many addresses is not stopped.
/// - A login counts if it fails. It is charged when it comes and given back when it succeeds, so that parallel guesses
///   get no further than ones that come one by one.
///
/// ```
/// use http::Method;
/// use tollgate_tower::keys::KeySource;
/// use tollgate_tower::{CredentialLimits, Limits};
///
/// /// Put into the request's extensions by what reads the form, outside of this layer.
/// #[derive(Clone)]
/// struct Account(String);
///
/// let account = KeySource::extension(|account: &Account| Some(account.0.clone()));
/// let logins = CredentialLimits::login(KeySource::peer(), account).on(Method::POST, "/login");
/// let limits = Limits::builder().policies(logins.policies()).build()?;
/// # Ok::<(), tollgate_tower::BuildError>(())
/// ```
///
/// A request without an account is refused by 400. Accounts that your login takes for one (`Alice`, `alice `) have to be
/// one key: make them so where the key is made.
#[derive(Debug, Clone)]
pub struct CredentialLimits {
    purpose: Purpose,
    address: KeySource,
    account: KeySource,
    per_pair: AnyAlgorithm,
    per_account: AnyAlgorithm,
    per_address: AnyAlgorithm,
    scope: Option<(Method, String)>,
    failed: Option<Failed>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Login,
    SignUp,
}

#[derive(Clone)]
struct Failed(Arc<Counts>);

impl std::fmt::Debug for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Failed(..)")
    }
}

impl CredentialLimits {
    /// For logins: 5 failures in 15 minutes by address and account, 20 an hour by account, 50 an hour by address. A
    /// login has failed if the response is a client's or a server's error.
    pub fn login(address: KeySource, account: KeySource) -> Self {
        let bucket = |permits, minutes| TokenBucket::new(Quota::new(permits, minutes * MINUTE)).into();
        Self {
            purpose: Purpose::Login,
            address,
            account,
            per_pair: bucket(5, 15),
            per_account: bucket(20, 60),
            per_address: bucket(50, 60),
            scope: None,
            failed: Some(Failed(Arc::new(|status, _| status.is_client_error() || status.is_server_error()))),
        }
    }

    /// For sign-ups, password resets and what else sends a mail: 3 an hour by address and account, 5 an hour by account,
    /// 10 an hour by address, whatever comes of them.
    pub fn sign_up(address: KeySource, account: KeySource) -> Self {
        let hourly = |permits| TokenBucket::new(Quota::per_hour(permits)).into();
        Self {
            purpose: Purpose::SignUp,
            per_pair: hourly(3),
            per_account: hourly(5),
            per_address: hourly(10),
            failed: None,
            ..Self::login(address, account)
        }
    }

    /// Another limit by address and account.
    pub fn per_pair(mut self, algorithm: impl Into<AnyAlgorithm>) -> Self {
        self.per_pair = algorithm.into();
        self
    }

    /// Another limit by account.
    pub fn per_account(mut self, algorithm: impl Into<AnyAlgorithm>) -> Self {
        self.per_account = algorithm.into();
        self
    }

    /// Another limit by address.
    pub fn per_address(mut self, algorithm: impl Into<AnyAlgorithm>) -> Self {
        self.per_address = algorithm.into();
        self
    }

    /// Applies to this method on this path: see [`Policy::route`].
    pub fn on(mut self, method: Method, path: &str) -> Self {
        self.scope = Some((method, path.to_owned()));
        self
    }

    /// Only requests whose response is like this count.
    pub fn failed_when(
        mut self,
        failed: impl Fn(StatusCode, &HeaderMap) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.failed = Some(Failed(Arc::new(failed)));
        self
    }

    /// The three, for [`Limits`](crate::Limits): the one that refuses most first.
    pub fn policies(self) -> [Policy; 3] {
        let prefix = match self.purpose {
            Purpose::Login => "login",
            Purpose::SignUp => "sign-up",
        };
        let no_account = MissingKey::Refuse(StatusCode::BAD_REQUEST);
        let pair = self.address.clone().and(self.account.clone());
        [
            ("address-account", self.per_pair, pair, no_account),
            ("account", self.per_account, self.account, no_account),
            ("address", self.per_address, self.address, MissingKey::Fail),
        ]
        .map(|(suffix, algorithm, key, missing_key)| {
            let mut policy =
                Policy::new(&format!("{prefix}-{suffix}"), algorithm, key).missing_key(missing_key);
            if let Some((method, path)) = &self.scope {
                policy = policy.method(method.clone()).route(path);
            }
            if let Some(Failed(failed)) = &self.failed {
                let failed = Arc::clone(failed);
                policy = policy.charge_if(move |status, headers| failed(status, headers));
            }
            policy
        })
    }
}
