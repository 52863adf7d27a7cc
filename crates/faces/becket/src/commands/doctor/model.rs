//! The model that a run would ask: its key, its address, and with `--online` whether it answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use becket_agent::provider::{AnswerPart, ModelRequest, Provider, RequestOptions};
use becket_events::{Message, MessageBody, MessageRecord, Part};
use becket_host::{API_KEY, Report};
use becket_providers::{Origins, origins};
use becket_run::models::provider;
use becket_run::setup::Setup;
use becket_system::Surroundings;
use futures_util::StreamExt;

use crate::options::Options;

/// How long the model may take to answer the request of `--online`.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest answer to that request, in tokens. Some models accept no smaller number.
const ANSWER_TOKENS: u64 = 16;

/// The model, and where its key and its address come from.
pub fn examine(
    setup: &Setup,
    options: &Options,
    surroundings: &Surroundings,
) -> (Vec<Report>, Option<Arc<dyn Provider>>) {
    let provider = match provider(setup, &options.run, surroundings) {
        Ok(provider) => provider,
        Err(error) => return (vec![Report::new("model", Some(error.to_string()))], None),
    };
    let name = format!("model {}/{}", provider.name(), provider.model());
    let mut reports = vec![Report::new(name, None)];
    // An agent file says itself where its models are.
    match provider.base_url() {
        Some(address) if setup.team.is_some() => {
            reports.push(Report::new(format!("base URL {address}"), None));
        }
        Some(address) => {
            let environment = |name: &str| surroundings.variable(name);
            let mut origins = origins(provider.name(), &environment, &setup.provider_settings());
            if !options.run.guests.texts(API_KEY).is_empty() {
                origins.key = Some("--api-key".into());
            }
            reports.extend(described(address, provider.name(), origins));
        }
        None => reports.push(Report::new(format!("key: {} needs none", provider.name()), None)),
    }
    (reports, Some(provider))
}

fn described(address: &str, provider: &str, origins: Origins) -> [Report; 2] {
    let key = match (origins.key, origins.key_variable) {
        (Some(origin), _) => Report::new(format!("key of {provider} from {origin}"), None),
        (None, Some(variable)) => Report::note(
            format!("key of {provider}"),
            format!("there is none; set {variable} if the address needs one"),
        ),
        (None, None) => Report::new(format!("key: {provider} needs none"), None),
    };
    let address = format!("base URL {address} ({})", origins.address);
    [key, Report::new(address, None)]
}

/// Sends one tiny request to the model.
pub async fn ask(provider: &dyn Provider) -> Report {
    let what = format!("online: {}/{}", provider.name(), provider.model());
    if provider.base_url().is_none() {
        return Report::new(format!("{what} needs no network"), None);
    }
    let started = Instant::now();
    match tokio::time::timeout(ANSWER_TIMEOUT, answer(provider)).await {
        Ok(Ok(())) => {
            let took = started.elapsed().as_millis();
            Report::new(format!("{what} answered in {took} ms"), None)
        }
        Ok(Err(trouble)) => Report::new(what, Some(trouble)),
        Err(_) => {
            let waited = ANSWER_TIMEOUT.as_secs();
            Report::new(what, Some(format!("no answer within {waited} s")))
        }
    }
}

async fn answer(provider: &dyn Provider) -> Result<(), String> {
    let options = RequestOptions {
        max_tokens: Some(ANSWER_TOKENS),
        ..RequestOptions::default()
    };
    let ping = Message::new(MessageRecord {
        id: "ping".into(),
        time_ms: 0,
        body: MessageBody::User {
            content: vec![Part::text("ping")],
        },
    });
    let request = ModelRequest {
        system_prompt: "Answer with one word.",
        messages: &[ping],
        tools: &[],
        options: &options,
    };
    let body = provider.body(&request).map_err(|error| error.to_string())?;
    let mut answering = provider.send(&body).await.map_err(|error| error.to_string())?;
    while let Some(part) = answering.parts.next().await {
        if let AnswerPart::Completed { .. } = part.map_err(|error| error.to_string())? {
            return Ok(());
        }
    }
    Err("the answer broke off".into())
}
