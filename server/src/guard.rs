//! Guard that answers each request: a panic in a handler costs that request only, and requests of the protocol's own
//! without a handler are refused.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};
use tower_lsp::jsonrpc::{Error, Id, Request, Response};
use tower_service::Service;

/// A service behind the guard.
#[derive(Debug)]
pub struct GuardedService<S>(pub S);

/// The pending answer to a request.
type PendingAnswer<E> = Pin<Box<dyn Future<Output = Result<Option<Response>, E>> + Send>>;

impl<S> Service<Request> for GuardedService<S>
where
    S: Service<Request, Response = Option<Response>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Option<Response>;
    type Error = S::Error;
    type Future = PendingAnswer<S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let id = request.id().cloned();
        if let Some(id) = id.clone().filter(|_| request.method().starts_with("$/")) {
            let refusal = Response::from_error(id, Error::method_not_found());
            return Box::pin(async { Ok(Some(refusal)) });
        }
        match catch_unwind(AssertUnwindSafe(|| self.0.call(request))) {
            Ok(answer) => Box::pin(guarded(answer, id)),
            Err(defect) => Box::pin(async move { Ok(tripped(id, &*defect)) }),
        }
    }
}

/// The answer, or an error if computing it panics. The panic itself was reported when it happened.
async fn guarded<E>(
    answer: impl Future<Output = Result<Option<Response>, E>> + Send,
    id: Option<Id>,
) -> Result<Option<Response>, E> {
    let mut answer = Box::pin(answer);
    let caught = std::future::poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(answer)) => Poll::Ready(Ok(answer)),
            Err(defect) => Poll::Ready(Err(defect)),
        }
    });
    caught
        .await
        .unwrap_or_else(|defect| Ok(tripped(id, &*defect)))
}

/// The response to a client after a defect, with its message: that of a broken reference names the run. `None` for a
/// notification.
fn tripped(id: Option<Id>, defect: &(dyn Any + Send)) -> Option<Response> {
    let error = Error {
        data: defect
            .downcast_ref::<String>()
            .map(|text| text.as_str().into()),
        message: "this request failed; that is a defect of unsnarl, please report it".into(),
        ..Error::internal_error()
    };
    id.map(|id| Response::from_error(id, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use unsnarl_trace::{IndexVec, RunScope, SiteId};

    /// Panics at once, or later, or answers.
    struct Tripping;

    impl Service<Request> for Tripping {
        type Response = Option<Response>;
        type Error = Infallible;
        type Future = PendingAnswer<Infallible>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request) -> Self::Future {
            let id = request.id().cloned().unwrap_or_default();
            match request.method() {
                "now" => panic!("at once"),
                "later" => Box::pin(async { panic!("later") }),
                "stray" => {
                    let _scope = RunScope::enter("failed-3.arrow");
                    let sites: IndexVec<SiteId, ()> = IndexVec::new();
                    let () = sites[SiteId(7)];
                    Box::pin(async { Ok(None) })
                }
                _ => Box::pin(async { Ok(Some(Response::from_ok(id, "fine".into()))) }),
            }
        }
    }

    async fn answer(method: &'static str) -> Response {
        let request = Request::build(method).id(1).finish();
        GuardedService(Tripping)
            .call(request)
            .await
            .unwrap()
            .unwrap()
    }

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        for method in ["now", "later"] {
            let answer = answer(method).await;
            assert_eq!(answer.id(), &Id::Number(1));
            assert_eq!(answer.error().unwrap().code.code(), -32603);
        }
        let stray = answer("stray").await;
        let told = stray
            .error()
            .unwrap()
            .data
            .as_ref()
            .unwrap()
            .as_str()
            .unwrap();
        assert!(
            told.contains("SiteId 7") && told.contains("failed-3.arrow"),
            "{told}"
        );
        assert!(answer("hover").await.is_ok());
        assert_eq!(
            answer("$/unheard").await.error().unwrap().code.code(),
            -32601
        );
        let notification = Request::build("now").finish();
        assert!(
            GuardedService(Tripping)
                .call(notification)
                .await
                .unwrap()
                .is_none()
        );
    }
}
