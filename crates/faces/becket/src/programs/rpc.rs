//! `--mode rpc`: commands come in line by line, are answered beside whatever runs, and the end of standard input is the
//! end of the session.

use std::sync::Arc;

use becket_agent::desk::{Delivery, Pace};
use becket_events::EndReason;
use becket_host::Person;
use becket_pi::rpc::{Command, Line, QueueMode, read, response};
use becket_system::{CliError, Exit, Surroundings};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::Program;
use super::answers::Desk;
use super::client::Client;
use super::lines::{Read, read_line};
use crate::args::Options;
use crate::commands::ask::{Company, Conversation, Purpose, front};
use crate::commands::runtime;
use crate::front::Output;
use crate::target::Wish;

/// What came in, in its order: something to do, or the response to what could not be read.
type Incoming = Result<Asked, Value>;

/// A command, and by which the program knows the response to it.
struct Asked {
    id: Option<Value>,
    name: String,
    command: Command,
}

/// Runs a session for the program on the other side.
pub fn run(options: &Options, words: &[String], surroundings: &Surroundings) -> Result<Exit, CliError> {
    if !words.is_empty() {
        return Err(
            CliError::usage("`--mode rpc` takes its prompts from standard input")
                .hint("{\"type\":\"prompt\",\"message\":\"Hello\"} is one"),
        );
    }
    let runtime = runtime(options)?;
    let result = runtime.block_on(async {
        let signals = surroundings.signals.listen()?;
        let cancel = signals.next();
        let work = session(options, surroundings, cancel);
        signals.unless_forced(work).await
    });
    // A thread still waits for lines.
    runtime.shutdown_background();
    result
}

async fn session(
    options: &Options,
    surroundings: &Surroundings,
    cancel: CancellationToken,
) -> Result<Exit, CliError> {
    let output = Arc::new(Output::muted());
    let front = front(options, surroundings, &output, Purpose::Prompts);
    let (program, client) = Program::asking(Arc::new(front.without_answers()));
    let gone = program.gone();
    // From now on: extensions may ask something when the session begins.
    let lines = listen(Arc::clone(&client));
    client.ask_for_trust(options, surroundings).await?;
    let company = Company {
        person: Person {
            front: Arc::clone(&client) as _,
            ui: Arc::clone(&client) as _,
        },
        program: Some(program),
        output,
    };
    let wish = Wish::of(options)?;
    let opened = Conversation::open_with(company, wish, Purpose::Prompts, options, surroundings, &cancel);
    let mut conversation = opened.await?;
    let served = conversation
        .serve(&cancel, async |steered| {
            let desk = Desk::new(steered, &client, &cancel);
            // pi's manners, until the program wants others.
            desk.desk.set_pace(Delivery::Steering, Pace::One);
            desk.desk.set_pace(Delivery::FollowUp, Pace::One);
            take_commands(&desk, lines, &gone).await;
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

/// Reads in a thread of its own, because a read cannot be called off. Answers to dialogs find who waits for them at
/// once: that may be somebody in whose place no command can be taken.
fn listen(client: Arc<Client>) -> UnboundedReceiver<Incoming> {
    let (sender, lines) = unbounded_channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        while let Some(line) = read_line(&mut input) {
            let line = match line {
                Read::Line(line) => read(&line),
                Read::TooLong => {
                    let why = "Failed to parse command: the line is too long".to_owned();
                    Line::Wrong(response(None, "parse", Err(why)))
                }
            };
            let incoming = match line {
                Line::Answer(answer) => {
                    client.answered(answer);
                    continue;
                }
                Line::Wrong(response) => Err(response),
                Line::Command { id, name, command } => Ok(Asked { id, name, command }),
            };
            if sender.send(incoming).is_err() {
                return;
            }
        }
        client.leave();
    });
    lines
}

/// Answers commands until no more come, the program is gone, or the session is to end.
async fn take_commands(desk: &Desk<'_>, mut lines: UnboundedReceiver<Incoming>, gone: &CancellationToken) {
    let mut under_way = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            () = desk.over() => return,
            () = gone.cancelled() => return,
            Some(()) = under_way.next(), if !under_way.is_empty() => {}
            asked = lines.recv() => match asked {
                None => return,
                Some(Err(wrong)) => desk.client.stream().say(&wrong),
                Some(Ok(Asked { id, name, command })) => under_way.push(async move {
                    let outcome = desk.answer(command).await;
                    desk.client.stream().say(&response(id.as_ref(), &name, outcome));
                }),
            },
        }
    }
}

/// How much is heard at once, in becket's words.
pub fn pace(mode: QueueMode) -> Pace {
    match mode {
        QueueMode::All => Pace::All,
        QueueMode::OneAtATime => Pace::One,
    }
}
