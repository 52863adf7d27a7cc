//! Answers of providers that are cut at every byte, or whose events are lost, doubled, reordered or late.

use std::sync::Arc;
use std::time::Duration;

use becket_agent::provider::{AnswerPart, ModelRequest, Provider, RequestOptions};
use becket_events::{Delta, Message, MessageBody, MessageRecord, Part};
use becket_providers::{Api, ProviderSettings, read_answer, select};
use futures_util::StreamExt;
use serde_json::{Value, json};
use testkit::{Ending, ModelServer, Response, Wire};

use crate::random::Random;
use crate::round::{Campaign, Round, ensure};

pub const CAMPAIGN: Campaign = Campaign {
    name: "streams",
    promise: "No tool call comes from an answer that was cut, and none that the model did not make.",
    round,
};

/// How an interface is asked: its reader, the variables of its service, and a model.
fn service(wire: Wire) -> (Api, &'static str, &'static str) {
    match wire {
        Wire::Chat => (Api::OpenAi, "OPENAI", "openai/gpt-4.1"),
        Wire::Messages => (Api::Anthropic, "ANTHROPIC", "anthropic/claude-sonnet-4-5"),
        Wire::Responses => (Api::Responses, "OPENAI", "openai/gpt-5.1-codex"),
        Wire::Gemini => (Api::Gemini, "GEMINI", "gemini/gemini-3.5-flash"),
    }
}

fn round(round: &mut Round<'_>) -> Result<(), String> {
    let wire = *round.random.choose(&Wire::ALL);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    let arguments = json!({"path": words(&mut round.random)}).to_string();
    let whole = wire.thought_and_call("seal", ("call_1", "read", &arguments));
    runtime.block_on(cut_everywhere(round, wire, &whole))?;
    for _ in 0..20 {
        runtime.block_on(disturb(round, wire, &whole, &arguments))?;
    }
    cut_the_program(round, wire)
}

/// A text with what JSON, UTF-8 and event streams make special.
fn words(random: &mut Random) -> String {
    const PIECES: &[&str] = &[
        "a", "ä", "🙂", "\"", "\\", "\n", "}", "{", "data: ", "[DONE]", "\u{2028}", " ",
    ];
    (0..random.below(12)).map(|_| *random.choose(PIECES)).collect()
}

/// Bytes in pieces of any size.
fn pieces(random: &mut Random, mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let most = *random.choose(&[1, 7, 64, 4096]);
        let (piece, rest) = bytes.split_at(1 + random.below(most.min(bytes.len())));
        all.push(piece.to_vec());
        bytes = rest;
    }
    all
}

async fn cut_everywhere(round: &mut Round<'_>, wire: Wire, whole: &str) -> Result<(), String> {
    let end = wire.end_of(whole).end;
    for cut in 0..=whole.len() {
        let pieces = pieces(&mut round.random, &whole.as_bytes()[..cut]);
        let (_, is_whole) = read_answer(service(wire).0, pieces).await;
        let should = cut >= end;
        ensure!(
            is_whole == should,
            "{wire:?} cut at {cut} of {end}: complete is {is_whole}: {whole}"
        );
    }
    round.count("answers cut at every byte, in the readers", whole.len());
    Ok(())
}

/// A stream in which one event is lost, comes twice or comes later.
fn disturbed(random: &mut Random, stream: &str) -> String {
    let plain = stream.replace("\r\n", "\n");
    let events = plain.split("\n\n").filter(|event| !event.trim().is_empty());
    let mut events: Vec<&str> = events.collect();
    let place = random.below(events.len());
    let event = events[place];
    match random.below(3) {
        0 => drop(events.remove(place)),
        1 => events.insert(place, event),
        _ if place + 1 < events.len() => events.swap(place, place + 1),
        _ => {}
    }
    events.iter().map(|event| format!("{event}\n\n")).collect()
}

async fn disturb(round: &mut Round<'_>, wire: Wire, whole: &str, arguments: &str) -> Result<(), String> {
    let stream = disturbed(&mut round.random, whole);
    let mut response = Response::events("");
    for piece in pieces(&mut round.random, stream.as_bytes()) {
        let delay = Duration::from_millis(u64::from(round.random.once_in(50)));
        response = response.late_piece(delay, piece);
    }
    let server = ModelServer::start([response]);
    round.count("answers with an event lost, doubled or late, in the providers", 1);
    let Some(calls) = calls(&*provider(wire, &server)?).await else {
        return Ok(());
    };
    ensure!(calls.len() <= 1, "{wire:?}: {} calls from {stream}", calls.len());
    for (name, found) in calls {
        let is_call = serde_json::from_str::<Value>(&found).is_ok_and(|value| value.is_object());
        ensure!(
            name == "read" && (!is_call || found == arguments || found == "{}"),
            "{wire:?}: a call of {name} with {found} from {stream}"
        );
    }
    Ok(())
}

fn provider(wire: Wire, server: &ModelServer) -> Result<Arc<dyn Provider>, String> {
    let (_, service, model) = service(wire);
    let url = server.url();
    let environment = |name: &str| match name.strip_prefix(service)? {
        "_BASE_URL" => Some(url.clone()),
        "_API_KEY" => Some("sk-campaign-0123456789".to_owned()),
        _ => None,
    };
    select(Some(model), &environment, &ProviderSettings::default()).map_err(|error| error.to_string())
}

/// The names and arguments of the calls of a complete answer; `None` if there is none.
async fn calls(provider: &dyn Provider) -> Option<Vec<(String, String)>> {
    let content = vec![Part::text("hi")];
    let messages = [Message::new(MessageRecord {
        id: "m".into(),
        time_ms: 0,
        body: MessageBody::User { content },
    })];
    let options = RequestOptions::default();
    let request = ModelRequest {
        system_prompt: "be brief",
        messages: &messages,
        tools: &[],
        options: &options,
    };
    let body = provider.body(&request).ok()?;
    let mut answering = provider.send(&body).await.ok()?;
    let (mut calls, mut is_complete) = (Vec::new(), false);
    while let Some(part) = answering.parts.next().await {
        match part.ok()? {
            AnswerPart::Delta(Delta::ToolCall { name, .. }) => calls.push((name, String::new())),
            AnswerPart::Delta(Delta::Arguments { index, text }) => calls.get_mut(index)?.1.push_str(&text),
            AnswerPart::Completed { .. } => is_complete = true,
            _ => {}
        }
    }
    is_complete.then_some(calls)
}

/// The real program gets an answer that is cut somewhere, and another one when it asks again.
fn cut_the_program(round: &mut Round<'_>, wire: Wire) -> Result<(), String> {
    let (_, service, model) = service(wire);
    let call = ("call-1", "shell", r#"{"command":"touch ran"}"#);
    let whole = wire.thought_and_call("seal", call);
    let end = wire.end_of(&whole).end;
    let cut = round.random.below(end);
    let ending = *round.random.choose(&[Ending::Cut, Ending::Complete]);
    let head = pieces(&mut round.random, &whole.as_bytes()[..cut]);
    let again = (0..8).map(|_| Response::events(wire.text("went on")));
    let first = Response::event_pieces(head).ending(ending);
    let server = ModelServer::start([first].into_iter().chain(again));
    let room = round.room();
    let room = room
        .with(&format!("{service}_BASE_URL"), &server.url())
        .with(&format!("{service}_API_KEY"), "sk-campaign-0123456789");
    let run = room.run(["--yes", "--model", model, "hello"]);
    round.count("answers cut somewhere, for the program", 1);
    ensure!(
        !room.has("ran"),
        "{wire:?} cut at {cut} of {end}, {ending:?}: the call ran: {run:#?}"
    );
    let answered = run.code == 0 && run.stdout.contains("went on");
    ensure!(
        answered || run.code == 3,
        "{wire:?} cut at {cut} of {end}, {ending:?}: neither answered nor failed: {run:#?}"
    );
    Ok(())
}
