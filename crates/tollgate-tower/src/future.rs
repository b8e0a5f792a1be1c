//! The future of a response.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;
use tollgate::{Clock, QuantaClock};

use crate::limits::Decided;

pin_project! {
    /// The future of a [`RateLimit`](crate::RateLimit)'s response. Dropping it before there is one leaves what the
    /// request was charged as it is.
    pub struct ResponseFuture<F, B, C: Clock = QuantaClock> {
        #[pin]
        state: State<F, B, C>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F, B, C: Clock> {
        Refused { response: Option<Response<B>> },
        Passed { #[pin] inner: F, decided: Option<Decided<C>> },
    }
}

impl<F, B, C: Clock> ResponseFuture<F, B, C> {
    pub(crate) fn refused(response: Response<B>) -> Self {
        Self { state: State::Refused { response: Some(response) } }
    }

    pub(crate) fn passed(inner: F, decided: Option<Decided<C>>) -> Self {
        Self { state: State::Passed { inner, decided } }
    }
}

impl<F, B, E, C> Future for ResponseFuture<F, B, C>
where
    F: Future<Output = Result<Response<B>, E>>,
    C: Clock,
{
    type Output = Result<Response<B>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Refused { response } => match response.take() {
                Some(response) => Poll::Ready(Ok(response)),
                // Polled again after it was ready.
                None => Poll::Pending,
            },
            StateProjection::Passed { inner, decided } => {
                let mut response = ready!(inner.poll(context))?;
                if let Some(decided) = decided {
                    let (status, headers) = (response.status(), response.headers());
                    decided.settle(status, headers);
                    decided.write_fields(response.headers_mut());
                }
                Poll::Ready(Ok(response))
            }
        }
    }
}

impl<F, B, C: Clock> fmt::Debug for ResponseFuture<F, B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
