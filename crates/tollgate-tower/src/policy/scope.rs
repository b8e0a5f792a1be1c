//! Which requests a policy applies to.

use std::fmt;
use std::sync::Arc;

use http::Method;
use http::request::Parts;

/// Which requests a policy applies to: all, unless told otherwise.
#[derive(Clone, Default)]
pub(crate) struct Scope {
    /// One path, or with `/*` at its end those below.
    pub(crate) path: Option<String>,
    pub(crate) methods: Vec<Method>,
    pub(crate) when: Option<Arc<Applies>>,
}

type Applies = dyn Fn(&Parts) -> bool + Send + Sync;

impl Scope {
    pub(crate) fn has(&self, request: &Parts) -> bool {
        self.has_method(&request.method)
            && self.path.as_deref().is_none_or(|pattern| matches(pattern, request.uri.path()))
            && self.when.as_ref().is_none_or(|applies| applies(request))
    }

    /// Whether the path is one that can be told: it begins with `/`, and has a `*` at most behind its last `/`.
    pub(crate) fn is_path_valid(&self) -> bool {
        self.path.as_deref().is_none_or(|pattern| {
            let path = pattern.strip_suffix("/*").unwrap_or(pattern);
            let is_rooted = path.starts_with('/') || (path.is_empty() && pattern == "/*");
            is_rooted && !path.contains(['*', '?', '#']) && path.bytes().all(|byte| byte.is_ascii_graphic())
        })
    }

    /// Whether a request may be in both. It is not known what closures say.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let share_a_method = other.methods.is_empty()
            || self.methods.is_empty()
            || self.methods.iter().any(|method| other.has_method(method));
        let share_a_path = match (&self.path, &other.path) {
            (Some(one), Some(another)) => {
                let below = |pattern: &str| pattern.strip_suffix('*').map(str::to_owned);
                match (below(one), below(another)) {
                    (Some(one), Some(another)) => one.starts_with(&another) || another.starts_with(&one),
                    (Some(_), None) => matches(one, another),
                    (None, _) => matches(another, one),
                }
            }
            _ => true,
        };
        share_a_method && share_a_path
    }

    fn has_method(&self, method: &Method) -> bool {
        self.methods.is_empty() || self.methods.contains(method)
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => pattern == path,
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("path", &self.path)
            .field("methods", &self.methods)
            .field("has_closure", &self.when.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(path: Option<&str>, methods: &[Method]) -> Scope {
        Scope { path: path.map(str::to_owned), methods: methods.to_vec(), when: None }
    }

    #[test]
    fn a_path_is_itself_or_all_below_it() {
        let has = |pattern: &str, path: &str| {
            let (parts, ()) = http::Request::builder().uri(path).body(()).expect("a request").into_parts();
            scope(Some(pattern), &[]).has(&parts)
        };
        assert!(has("/login", "/login") && has("/login", "/login?next=/"));
        assert!(!has("/login", "/login/") && !has("/login", "/logins"));
        assert!(has("/api/*", "/api/") && has("/api/*", "/api/a/b"));
        assert!(!has("/api/*", "/api") && !has("/api/*", "/apis/a"));
        assert!(has("/*", "/") && has("/*", "/anything"));
    }

    #[test]
    fn paths_that_mean_nothing_are_told_apart() {
        for path in ["/", "/*", "/login", "/api/*", "/a-b_c.d/%C3%A9/*"] {
            assert!(scope(Some(path), &[]).is_path_valid(), "{path}");
        }
        for path in ["", "*", "login", "/a*", "/a/*/b", "/a/*/*", "/a b", "/é", "/a?b"] {
            assert!(!scope(Some(path), &[]).is_path_valid(), "{path}");
        }
    }

    #[test]
    fn scopes_overlap_unless_methods_or_paths_keep_them_apart() {
        let overlap = |one: (&str, &[Method]), another: (&str, &[Method])| {
            let (one, another) = (scope(Some(one.0), one.1), scope(Some(another.0), another.1));
            assert_eq!(one.overlaps(&another), another.overlaps(&one));
            one.overlaps(&another)
        };
        assert!(overlap(("/a", &[]), ("/a", &[Method::GET])));
        assert!(!overlap(("/a", &[Method::POST]), ("/a", &[Method::GET])));
        assert!(!overlap(("/a", &[]), ("/b", &[])));
        assert!(overlap(("/a/*", &[]), ("/a/b", &[])));
        assert!(overlap(("/a/*", &[]), ("/a/b/*", &[])));
        assert!(!overlap(("/a/*", &[]), ("/ab/*", &[])));
        assert!(!overlap(("/a/*", &[]), ("/a", &[])));
        assert!(scope(None, &[]).overlaps(&scope(Some("/a"), &[])));
    }
}
