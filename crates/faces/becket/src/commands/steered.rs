//! `--mode rpc`: a session that another program steers.

use std::sync::Arc;

use becket_events::EndReason;
use becket_face_kit::{Conversation, Shell, cancellable, client};
use becket_front::Style;
use becket_host::{Client, Mode, ServedSession};
use becket_run::project_trust::{FIRST_ANSWER_TIMEOUT, Pending, QUESTION};
use becket_run::{ContextChoice, Purpose};
use becket_system::{CliError, Exit, Surroundings, harmless};
use tokio_util::sync::CancellationToken;

use crate::options::Options;

/// Runs a session for the program that has started becket.
pub fn run(options: &Options, words: &[String], surroundings: &Surroundings) -> Result<Exit, CliError> {
    if !words.is_empty() {
        return Err(
            CliError::usage("`--mode rpc` takes its prompts from standard input")
                .hint("{\"type\":\"prompt\",\"message\":\"Hello\"} is one"),
        );
    }
    cancellable(options, surroundings, async |cancel| {
        session(options, surroundings, cancel).await
    })
}

async fn session(
    options: &Options,
    surroundings: &Surroundings,
    cancel: CancellationToken,
) -> Result<Exit, CliError> {
    let client = client(Mode::Rpc, Purpose::Prompts, options, surroundings)?;
    ask_for_trust(&*client, options, surroundings).await?;
    let choice = ContextChoice::of(&options.run)?;
    let opened = Arc::clone(&client);
    let opened = Conversation::open_for(opened, choice, Purpose::Prompts, options, surroundings, &cancel);
    let mut conversation = opened.await?;
    // What commands give, the program is told.
    let shell = Shell {
        output: None,
        ..conversation.shell(Style::plain(), surroundings)
    };
    let served = conversation
        .serve(&cancel, async |steered| {
            let session = ServedSession {
                handle: steered.handle,
                agent: &steered.assembled.agent,
                guests: &*steered.assembled.interactive,
                shell: &shell,
                ending: steered.ending,
                cancel: &cancel,
            };
            client.serve(session).await;
        })
        .await;
    client.leave();
    let (reason, exit) = match (&served, cancel.is_cancelled()) {
        (Err(_), _) => (EndReason::Failed, Exit::Failed),
        (Ok(()), true) if surroundings.signals.ended() => (EndReason::Cancelled, Exit::Terminated),
        (Ok(()), true) => (EndReason::Cancelled, Exit::Cancelled),
        (Ok(()), false) => (EndReason::Done, Exit::Answered),
    };
    conversation.close(reason).await?;
    served.map(|()| exit)
}

/// Asks whether the untrusted parts of the working directory are to be trusted.
async fn ask_for_trust(
    client: &dyn Client,
    options: &Options,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let Some(pending) = Pending::read(&options.run, surroundings)? else {
        return Ok(());
    };
    let message = harmless(&pending.text());
    match client.confirm(QUESTION, &message, FIRST_ANSWER_TIMEOUT).await {
        Some(true) => pending.accept(),
        _ => Ok(()),
    }
}
