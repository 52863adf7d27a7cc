//! Commands are read line by line and answered while the agent is running. The end of standard input ends the session.

use std::sync::{Arc, Mutex, PoisonError};

use becket_agent::session_handle::{Delivery, Pace};
use becket_host::{ReadLine, ServedSession, read_line};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::answers::Answers;
use super::client::ProgramUser;
use crate::extensions::Extensions;
use crate::rpc::{self, Command, response};

/// A line of input: a command, or the response to a line that could not be read.
type Line = Result<Asked, Value>;

/// A command with its id.
pub struct Asked {
    id: Option<Value>,
    name: String,
    command: Command,
}

/// The commands that come in, for the first consumer.
pub struct Incoming(Mutex<Option<UnboundedReceiver<Line>>>);

impl Incoming {
    pub fn new(lines: Option<UnboundedReceiver<Line>>) -> Self {
        Self(Mutex::new(lines))
    }

    /// The commands, for the first caller.
    pub fn take(&self) -> Option<UnboundedReceiver<Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Executes the program's commands, until the program or the session ends.
pub async fn serve(
    session: ServedSession<'_>,
    extensions: &Extensions,
    user: &Arc<ProgramUser>,
    (lines, gone): (UnboundedReceiver<Line>, &CancellationToken),
) {
    let answers = Answers::new(session, extensions, user);
    // The defaults are those of pi.
    answers
        .handle()
        .messages()
        .set_pace(Delivery::Steering, Pace::One);
    answers
        .handle()
        .messages()
        .set_pace(Delivery::FollowUp, Pace::One);
    take_commands(&answers, lines, gone).await;
}

/// Reads on its own thread, because a read cannot be cancelled. Answers to dialogs are delivered at once, because a
/// dialog may be open while no command can be executed.
pub fn listen(user: Arc<ProgramUser>) -> UnboundedReceiver<Line> {
    let (sender, lines) = unbounded_channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        while let Some(line) = read_line(&mut input) {
            let line = match line {
                ReadLine::Line(line) => rpc::read(&line),
                ReadLine::TooLong => {
                    let why = "Failed to parse command: the line is too long".to_owned();
                    rpc::Line::Wrong(response(None, "parse", Err(why)))
                }
            };
            let incoming = match line {
                rpc::Line::Answer(answer) => {
                    user.answered(answer);
                    continue;
                }
                rpc::Line::Wrong(response) => Err(response),
                rpc::Line::Command { id, name, command } => Ok(Asked { id, name, command }),
            };
            if sender.send(incoming).is_err() {
                return;
            }
        }
        user.leave();
    });
    lines
}

/// Executes commands until no more come, the program is gone, or the session should end.
async fn take_commands(answers: &Answers<'_>, mut lines: UnboundedReceiver<Line>, gone: &CancellationToken) {
    let mut under_way = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            () = answers.over() => return,
            () = gone.cancelled() => return,
            Some(()) = under_way.next(), if !under_way.is_empty() => {}
            asked = lines.recv() => match asked {
                None => return,
                Some(Err(wrong)) => answers.user.stream().say(&wrong),
                Some(Ok(Asked { id, name, command })) => under_way.push(async move {
                    let outcome = answers.answer(command).await;
                    answers.user.stream().say(&response(id.as_ref(), &name, outcome));
                }),
            },
        }
    }
}
