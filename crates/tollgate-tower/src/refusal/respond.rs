//! The response to a request that is refused.

use std::fmt::Write;

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use super::Refusal;

/// Makes the response to a request that is refused.
///
/// A closure does:
///
/// ```
/// use http::Response;
/// use tollgate_tower::{Refusal, Respond};
///
/// let teapot = |refusal: &Refusal<'_>| {
///     let mut response = Response::new(format!("no coffee: {}", refusal.text()));
///     *response.status_mut() = http::StatusCode::IM_A_TEAPOT;
///     response
/// };
/// fn responds<B>(_: &impl Respond<B>) {}
/// responds::<String>(&teapot);
/// ```
///
/// The layer adds `Retry-After`, `Cache-Control: no-store` and the rate limit's fields to what is made here, where they
/// are missing.
pub trait Respond<B> {
    /// The response.
    fn respond(&self, refusal: &Refusal<'_>) -> Response<B>;
}

impl<B, F: Fn(&Refusal<'_>) -> Response<B>> Respond<B> for F {
    fn respond(&self, refusal: &Refusal<'_>) -> Response<B> {
        self(refusal)
    }
}

/// A sentence as `text/plain`.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainText;

/// An `application/problem+json` with the names of the policies that refuse.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProblemJson;

/// No body: for body types that are not made of text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Empty;

/// A gRPC status without a body, as 200: `RESOURCE_EXHAUSTED` for a limit, `UNAVAILABLE` for 503, and others.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grpc;

impl<B: From<String>> Respond<B> for PlainText {
    fn respond(&self, refusal: &Refusal<'_>) -> Response<B> {
        let body = format!("{}\n", refusal.text());
        response(refusal.status(), "text/plain; charset=utf-8", body.into())
    }
}

impl<B: From<String>> Respond<B> for ProblemJson {
    fn respond(&self, refusal: &Refusal<'_>) -> Response<B> {
        response(refusal.status(), "application/problem+json", refusal.problem_json().into())
    }
}

impl<B: Default> Respond<B> for Empty {
    fn respond(&self, refusal: &Refusal<'_>) -> Response<B> {
        let mut response = Response::new(B::default());
        *response.status_mut() = refusal.status();
        response
    }
}

impl<B: Default> Respond<B> for Grpc {
    fn respond(&self, refusal: &Refusal<'_>) -> Response<B> {
        let mut response = response(StatusCode::OK, "application/grpc", B::default());
        let code = grpc_code(refusal.status());
        let headers = response.headers_mut();
        headers.insert(HeaderName::from_static("grpc-status"), HeaderValue::from_static(code));
        if let Ok(message) = HeaderValue::try_from(percent_encoded(refusal.text())) {
            headers.insert(HeaderName::from_static("grpc-message"), message);
        }
        response
    }
}

fn response<B>(status: StatusCode, content_type: &'static str, body: B) -> Response<B> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// By the status that HTTP would have been told.
fn grpc_code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYLOAD_TOO_LARGE => "8", // RESOURCE_EXHAUSTED
        StatusCode::SERVICE_UNAVAILABLE => "14",                              // UNAVAILABLE
        StatusCode::UNAUTHORIZED => "16",                                     // UNAUTHENTICATED
        StatusCode::FORBIDDEN => "7",                                         // PERMISSION_DENIED
        StatusCode::BAD_REQUEST => "3",                                       // INVALID_ARGUMENT
        _ => "13",                                                            // INTERNAL
    }
}

/// As the gRPC protocol wants a message: printable ASCII but `%` as it is.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => encoded.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}
