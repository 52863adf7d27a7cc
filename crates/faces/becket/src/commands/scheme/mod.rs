//! `becket scheme`: Scheme as files of the virtual file system find it, for people who write such files. On a terminal
//! forms are typed, with history and completion; from a pipe they are evaluated as one program.

mod line;
mod words;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use becket_agent::Parent;
use becket_chibi::scheme::{self, Tier};
use becket_chibi::scheme_files::{Calls, Defined, Leaving, NoCalls, SchemeFile, SessionCalls, Why, World};
use becket_events::EndReason;
use becket_system::signals::leave_terminal;
use becket_system::{CliError, Exit, Folders, Surroundings, harmless};
use tokio_util::sync::CancellationToken;

use super::ask::{Conversation, Purpose};
use super::chat::Lines;
use super::{cancellable, print};
use crate::args::Options;
use crate::target::Wish;

/// The longest program that is read from standard input.
const INPUT_LIMIT: u64 = 16 * 1024 * 1024;

/// What is typed or piped in, in messages.
const INPUT: &str = "input";

/// Evaluates what is typed or piped in, after a file if one is named.
pub fn run(
    options: &Options,
    file: Option<&Path>,
    tier: Tier,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let result = cancellable(options, surroundings, async |cancel| {
        evaluate(options, file, tier, surroundings, &cancel).await
    });
    leave_terminal();
    result
}

/// A machine to type at, with a session that makes its calls.
struct Desk {
    machine: Arc<SchemeFile>,
    calls: Box<dyn Calls>,
    context: String,
    cwd: PathBuf,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Leave,
}

/// What came of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// A value, or none.
    Value,
    /// A mistake, or a limit.
    Failed,
    /// It wants to leave.
    Left(Leaving),
}

impl Shown {
    fn next(self) -> Next {
        match self {
            Self::Left(_) => Next::Leave,
            Self::Value | Self::Failed => Next::GoOn,
        }
    }
}

async fn evaluate(
    options: &Options,
    file: Option<&Path>,
    tier: Tier,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
) -> Result<Exit, CliError> {
    let wish = Wish::of(options)?;
    let conversation = Conversation::open_in(wish, Purpose::Call, options, surroundings, cancel).await?;
    let files = conversation.scheme();
    let files = files.ok_or_else(|| CliError::failed("there are no Scheme files in this run"))?;
    let parent = files.callers().only();
    let context = parent.as_ref().map_or("", Parent::context_name).to_owned();
    let calls: Box<dyn Calls> = match parent {
        Some(parent) => Box::new(SessionCalls::new(files.callers(), parent, "scheme")),
        None => Box::new(NoCalls),
    };
    let machine = machine(file, &files.world(tier), surroundings);
    let exit = match machine {
        Err(error) => Err(error),
        Ok(machine) => {
            let desk = Desk {
                machine,
                calls,
                context,
                cwd: surroundings.cwd.clone(),
            };
            desk.open_the_door().await;
            match surroundings.stdin_is_terminal {
                true => desk.talk(options, surroundings).await,
                false => desk.program(surroundings).await,
            }
        }
    };
    let reason = match &exit {
        Ok(Exit::Answered) => EndReason::Done,
        _ => EndReason::Failed,
    };
    conversation.close(reason).await?;
    exit
}

/// The machine, with what a file has defined.
fn machine(
    file: Option<&Path>,
    world: &World,
    surroundings: &Surroundings,
) -> Result<Arc<SchemeFile>, CliError> {
    let Some(file) = file else {
        return SchemeFile::empty(INPUT, world).map_err(|trouble| CliError::failed(trouble.words));
    };
    let source = std::fs::read_to_string(surroundings.cwd.join(file))
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))?;
    let opened = SchemeFile::open(&file.display().to_string(), source.into(), world);
    let (machine, defined) = opened.map_err(|trouble| CliError::failed(trouble.words))?;
    let (stdout, stderr) = machine.take_output();
    print(&stdout)?;
    if !stderr.is_empty() {
        surroundings.remark(stderr.trim_end());
    }
    surroundings.remark(&format!("{}: {}", file.display(), summary(&defined)));
    Ok(machine)
}

/// What a file brings, in a line.
fn summary(defined: &Defined) -> String {
    let list = |what: &str, names: Vec<&str>| match names.as_slice() {
        [] => format!("no {what}"),
        names => format!("{what} {}", names.join(", ")),
    };
    let tools = defined.tools.iter().map(|tool| tool.name.as_str()).collect();
    let hooks = defined
        .callbacks
        .iter()
        .map(|callback| callback.point.as_str())
        .collect();
    format!("{}; {}", list("tools", tools), list("hooks", hooks))
}

impl Desk {
    /// Who types may leave with `(exit)`, as at every other prompt, unless that means something else here.
    async fn open_the_door(&self) {
        if !self.machine.names().iter().any(|name| name == scheme::LEAVE) {
            let evaluated = self
                .machine
                .evaluate(scheme::LEAVING, INPUT, &self.context, &NoCalls);
            drop(evaluated.await);
        }
    }

    /// Evaluates all that is piped in.
    async fn program(&self, surroundings: &Surroundings) -> Result<Exit, CliError> {
        let mut code = String::new();
        let read = std::io::stdin().take(INPUT_LIMIT + 1).read_to_string(&mut code);
        read.map_err(|error| CliError::usage(format!("cannot read standard input: {error}")))?;
        if code.len() as u64 > INPUT_LIMIT {
            return Err(CliError::usage("there are more than 16 MiB on standard input"));
        }
        match self.show(&code, surroundings).await? {
            Shown::Value | Shown::Left(Leaving::Well) => Ok(Exit::Answered),
            Shown::Failed | Shown::Left(Leaving::Badly) => Ok(Exit::Failed),
        }
    }

    /// Evaluates what is typed, until the person has had enough.
    async fn talk(&self, options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
        let signals = &surroundings.signals;
        let folders = Folders::find(options.home.as_deref(), surroundings)?;
        let names = Arc::new(Mutex::new(self.machine.names()));
        let mut lines = Lines::reading(line::editor(&folders.scheme_history_file(), Arc::clone(&names)));
        loop {
            let interrupted = signals.next();
            let line = tokio::select! {
                biased;
                () = interrupted.cancelled() => return Ok(Exit::Cancelled),
                line = lines.next() => line?,
            };
            let Some(line) = line else {
                return Ok(Exit::Answered);
            };
            // Ctrl-C ends what the line has begun, and not the conversation.
            let next = tokio::select! {
                biased;
                next = self.obey(line.trim(), surroundings) => next?,
                () = interrupted.cancelled() => {
                    surroundings.complain("cancelled");
                    Next::GoOn
                }
            };
            *names.lock().expect("no panic happens while names are held") = self.machine.names();
            if signals.ended() {
                return Ok(Exit::Cancelled);
            }
            if next == Next::Leave {
                return Ok(Exit::Answered);
            }
        }
    }

    /// Does what a line says: a word to the prompt, or code.
    async fn obey(&self, line: &str, surroundings: &Surroundings) -> Result<Next, CliError> {
        if line.is_empty() {
            return Ok(Next::GoOn);
        }
        match line.strip_prefix(',') {
            Some(word) => self.command(word, surroundings).await,
            None => self.show(line, surroundings).await.map(Shown::next),
        }
    }

    /// Evaluates code and shows what comes of it.
    async fn show(&self, code: &str, surroundings: &Surroundings) -> Result<Shown, CliError> {
        self.evaluate(code, INPUT, surroundings).await
    }

    /// The same for code that messages call by another name.
    async fn evaluate(&self, code: &str, name: &str, surroundings: &Surroundings) -> Result<Shown, CliError> {
        let evaluated = self.machine.evaluate(code, name, &self.context, &*self.calls);
        let (result, stdout, stderr) = evaluated.await;
        let shown = |text: &str| match surroundings.stdout_is_terminal {
            true => harmless(text),
            false => text.to_owned(),
        };
        print(&shown(&stdout))?;
        if !stdout.is_empty() && !stdout.ends_with('\n') {
            print("\n")?;
        }
        if !stderr.is_empty() {
            surroundings.remark(stderr.trim_end());
        }
        match result {
            Ok(None) => Ok(Shown::Value),
            Ok(Some(value)) => print(&format!("{}\n", shown(&value))).map(|()| Shown::Value),
            Err(trouble) => Ok(match trouble.why {
                Why::Exit(leaving) => Shown::Left(leaving),
                _ => {
                    surroundings.complain(&trouble.words);
                    Shown::Failed
                }
            }),
        }
    }
}
