//! Models behind becket-agent's `Provider` trait.
//!
//! Read `select.rs` first: it decides which provider serves a model's name, and which interface it speaks.
//! `interface.rs` says what an interface is; `openai/`, `responses/`, `anthropic/` and `gemini/` write and read one
//! each, with what they share in `conversation.rs` and `signature.rs`, and `remote.rs` makes a provider of one.
//! `http.rs` carries them, `answer.rs` turns bytes into parts of an answer, `damage.rs` deals with damaged bytes,
//! `failure.rs` determines the kind of a provider's failure. `prices.rs` and `catalog.rs` know what models cost and
//! what they can do. `rehearsal/` and `scripted/` are models without a network, `relay.rs` is the model of the run that
//! has started this program.
//!
//! This crate reads no environment and no configuration file, never retries, and knows no hook: whoever calls it
//! does that. A key enters a request as a header at the moment of sending and is nowhere else.

mod answer;
mod anthropic;
mod api;
mod catalog;
mod conversation;
mod damage;
mod embedded;
mod failure;
mod gemini;
mod http;
mod interface;
mod model_list;
mod openai;
mod prices;
pub mod rehearsal;
pub mod relay;
mod remote;
mod responses;
pub mod scripted;
mod secret;
mod select;
mod signature;

pub use api::Api;
pub use catalog::{facts_of, of_family};
pub use http::{Endpoint, Timeouts};
pub use prices::{PRICES_OF, Price, Prices, amount, priced_models};
pub use remote::Remote;
pub use secret::Secret;
pub use select::{
    KEY_VARIABLES, Origins, ProviderEntry, ProviderSettings, SelectError, address, api, has_key,
    key_variables, origins, provider_names, select,
};

/// Reads a page of a provider's list of models, and returns its models. Public only for its fuzz target.
#[doc(hidden)]
pub fn read_model_page(
    bytes: &[u8],
    address: &url::Url,
) -> Result<(Vec<becket_agent::provider::OfferedModel>, Option<url::Url>), String> {
    let page = model_list::ModelPage::read(bytes)?;
    let next = page.next(address);
    Ok((page.models().collect(), next))
}

/// Reads an answer in pieces, as it would come from a provider, and returns the number of its parts. Public only for
/// its fuzz target.
#[doc(hidden)]
pub async fn read_answer(api: Api, pieces: Vec<Vec<u8>>) -> (usize, bool) {
    use futures_util::StreamExt;
    let origin = answer::Origin {
        place: "fuzz".into(),
        key: None,
        with_data: false,
    };
    let framing = match pieces.first().and_then(|piece| piece.first()) {
        Some(b'{' | b'[') => answer::Framing::Document,
        _ => answer::Framing::Events,
    };
    let bytes = futures_util::stream::iter(pieces.into_iter().map(|piece| Ok(bytes::Bytes::from(piece))));
    let idle = std::time::Duration::from_secs(60);
    let mut parts = answer::parts(bytes, framing, remote::reader(api), origin, idle);
    let (mut count, mut is_whole) = (0, true);
    while let Some(part) = parts.next().await {
        count += 1;
        is_whole &= part.is_ok();
    }
    (count, is_whole)
}
