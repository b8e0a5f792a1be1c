use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use http::{Request, Response};
use tokio::net::TcpListener;
use tollgate_tower::Grpc;
use tollgate_tower::keys::{ClientAddress, KeySource};
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming};
use tonic::transport::{Channel, Server};
use tonic::{Code, Status};
use tower::{Service, ServiceExt};

use crate::layer;

/// Answers every call by the status OK and no message.
#[derive(Clone)]
struct Always;

impl NamedService for Always {
    const NAME: &'static str = "test.Always";
}

impl Service<Request<Body>> for Always {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        ready(Ok(Status::ok("").into_http()))
    }
}

/// Over HTTP/2 on a socket, with the peer's address from where tonic puts it.
#[tokio::test]
async fn tonics_clients_are_told_resource_exhausted() {
    let peer = ClientAddress::peer().peer_from(|request| {
        request.extensions.get::<TcpConnectInfo>().and_then(TcpConnectInfo::remote_addr)
    });
    let (limit, _) = layer("2/h", KeySource::address(peer));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = Server::builder().layer(limit.respond_with(Grpc)).add_service(Always);
    let server = tokio::spawn(router.serve_with_incoming(TcpIncoming::from(listener)));

    let uri = format!("http://{address}");
    let channel = Channel::from_shared(uri.clone()).expect("a URI").connect().await.expect("a connection");
    let mut told = Vec::new();
    for _ in 0..4 {
        let request = Request::builder()
            .method("POST")
            .uri(format!("{uri}/test.Always/Call"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(Body::default())
            .expect("a request");
        let response = channel.clone().oneshot(request).await.expect("a response");
        let status = Status::from_header_map(response.headers()).expect("a status");
        let retry_after = response.headers().get("retry-after").map(|value| value.as_bytes().to_vec());
        told.push((status.code(), retry_after.is_some(), status.message().to_owned()));
    }
    server.abort();
    let exhausted =
        (Code::ResourceExhausted, true, "too many requests: default; retry after 1800 s".to_owned());
    assert_eq!(
        told,
        [(Code::Ok, false, String::new()), (Code::Ok, false, String::new()), exhausted.clone(), exhausted]
    );
}
