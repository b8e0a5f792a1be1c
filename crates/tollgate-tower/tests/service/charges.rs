use std::convert::Infallible;
use std::future::{pending, ready};
use std::sync::{Arc, Mutex};

use http::{Request, Response, StatusCode};
use tollgate_tower::Mode;
use tower::{Layer, ServiceExt, service_fn};

use crate::{SECOND, Server, everybodys, get};

const REFUNDABLE: [&str; 3] = ["token-bucket 3/min", "fixed-window 3/min", "sliding-counter 3/min"];

fn failures(text: &str) -> Server {
    Server::new([everybodys("failures", text).charge_if(|status, _| status == StatusCode::UNAUTHORIZED)])
}

#[tokio::test]
async fn only_responses_that_count_are_charged() {
    for text in REFUNDABLE {
        let server = failures(text);
        let (good, bad) = (get("/"), get("/").header("x-answer", "401"));
        assert_eq!(server.passed_of(50, &good).await, 50, "{text}");
        for good_after in [200, 200, 429] {
            assert_eq!(server.status(&bad).await, 401, "{text}");
            assert_eq!(server.status(&good).await, good_after, "{text}");
        }
        assert_eq!(server.status(&bad).await, 429, "{text}");
    }
}

#[tokio::test]
async fn requests_under_way_count_so_that_parallel_guesses_get_no_further() {
    for text in REFUNDABLE {
        let server = failures(text);
        let slow = || {
            server
                .layer
                .layer(service_fn(|_: Request<String>| pending::<Result<Response<String>, Infallible>>()))
        };
        let mut under_way = Vec::new();
        for _ in 0..3 {
            let mut response = Box::pin(slow().oneshot(get("/").request()));
            assert!(poll_once(&mut response).await.is_none(), "{text}");
            under_way.push(response);
        }
        assert_eq!(server.status(&get("/")).await, 429, "{text}");
        // Whoever hangs up before the answer has used up his guess.
        drop(under_way);
        assert_eq!(server.status(&get("/")).await, 429, "{text}");
        assert_eq!(server.stats("failures").refunded, 0);
    }
}

/// One poll.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        use std::task::Poll;
        Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}

/// A success that comes late must not wipe out a failure of the window that has begun since.
#[tokio::test]
async fn a_success_that_comes_after_its_window_gives_nothing_back() {
    for text in REFUNDABLE {
        let server = failures(text);
        let bad = get("/").header("x-answer", "401");
        // Windows begin at whole minutes; a bucket has forgotten a charge after 20 s.
        server.clock.advance(30 * SECOND);
        let (answer, answered) = tokio::sync::oneshot::channel::<()>();
        let answered = Arc::new(Mutex::new(Some(answered)));
        let slow = service_fn(move |_: Request<String>| {
            let answered = answered.lock().expect("not poisoned").take().expect("one request");
            async move {
                answered.await.expect("answered");
                Ok::<_, Infallible>(Response::new(String::new()))
            }
        });
        let mut under_way = Box::pin(server.layer.layer(slow).oneshot(get("/").request()));
        assert!(poll_once(&mut under_way).await.is_none());

        server.clock.advance(40 * SECOND);
        assert_eq!(server.status(&bad).await, 401);
        answer.send(()).expect("under way");
        assert_eq!(under_way.await.expect("infallible").status(), 200);
        assert_eq!(server.stats("failures").refunded, 0, "{text}");
    }
}

#[tokio::test]
async fn a_policy_that_is_tried_out_gives_back_too() {
    let server = Server::new([everybodys("tried", "2/h")
        .mode(Mode::Shadow)
        .charge_if(|status, _| status.is_client_error())]);
    assert_eq!(server.passed_of(9, &get("/")).await, 9);
    assert_eq!((server.stats("tried").shadow_refused, server.stats("tried").refunded), (0, 9));
    for _ in 0..3 {
        let _ = server.status(&get("/").header("x-answer", "400")).await;
    }
    assert_eq!(server.stats("tried").shadow_refused, 1);
}

#[tokio::test]
async fn an_error_of_the_service_counts() {
    let server = failures("2/h");
    let broken =
        || server.layer.layer(service_fn(|_: Request<String>| ready(Err::<Response<String>, _>("broken"))));
    for _ in 0..2 {
        assert_eq!(broken().oneshot(get("/").request()).await.expect_err("an error"), "broken");
    }
    assert_eq!(server.status(&get("/")).await, 429);
}
