//! What an interface is, and how its addresses are made.

use becket_agent::provider::{ModelRequest, RequestOptions};
use becket_events::Json;
use url::Url;

use crate::answer::AnswerReader;
use crate::http::{FixedHeaders, KeyHeader};

/// What an interface is: addresses, headers, how a request is written and how its answer is read.
pub(crate) trait Interface: Send + Sync {
    /// The address of requests, below the base address.
    fn address(&self, base: &Url) -> Url;

    /// The address of the list of models.
    fn models(&self, base: &Url) -> Url;

    /// How the key is sent.
    fn key_header(&self) -> KeyHeader {
        KeyHeader::Bearer
    }

    /// The headers of a request with that body, besides those of every interface.
    fn headers(&self, _body: &str) -> FixedHeaders {
        &[]
    }

    /// The request as JSON text.
    fn body(&self, request: &ModelRequest<'_>) -> Json;

    /// A reader of one answer.
    fn reader(&self) -> Box<dyn AnswerReader>;

    /// Whether a request with these options may ask for an answer by a schema and lose nothing else by it.
    fn has_structured_answers(&self, _options: &RequestOptions) -> bool {
        true
    }

    /// Whether a signature of a thought is sent back.
    fn reads(&self, _signature: &str) -> bool {
        false
    }
}

/// The address with a path below the base address. A base address that is the whole address already stays as it is,
/// and one without any path gets the usual version.
pub(crate) fn below(base: &Url, version: &str, path: &str) -> Url {
    let mut url = base.clone();
    let begin = base.path().trim_end_matches('/');
    let whole = match begin {
        "" => format!("/{version}{path}"),
        _ if begin.ends_with(path) => begin.to_owned(),
        _ => format!("{begin}{path}"),
    };
    url.set_path(&whole);
    url
}

/// The address of the list of models, beside the address of requests, whose path ends with `requests`.
pub(crate) fn beside(address: &Url, requests: &str) -> Url {
    let mut url = address.clone();
    let begin = url.path().strip_suffix(requests).unwrap_or_default();
    let path = format!("{begin}/models");
    url.set_path(&path);
    url
}
