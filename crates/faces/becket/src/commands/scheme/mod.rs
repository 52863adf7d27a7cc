//! `becket scheme`: Scheme with the libraries that files of the virtual file system have, to try them out. On a
//! terminal forms are typed, with history and completion; from a pipe they are evaluated as one program.

mod line;
mod repl;
mod words;

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex};

use becket_agent::Parent;
use becket_chat::Lines;
use becket_chibi::scheme::Tier;
use becket_chibi::scheme_files::{
    Calls, Defined, Leaving, NoCalls, SchemeFile, SchemeFiles, SessionCalls, World,
};
use becket_events::EndReason;
use becket_face_kit::{Conversation, cancellable};
use becket_run::Purpose;
use becket_run::target::ContextChoice;
use becket_system::{CliError, Exit, Folders, Surroundings};
use repl::{INPUT, Next, Repl, Shown};
use tokio_util::sync::CancellationToken;

use crate::options::Options;
use crate::printing::print;

/// The longest program that is read from standard input.
const INPUT_LIMIT: u64 = 16 * 1024 * 1024;

/// Evaluates what is typed or piped in, after a file if one is named.
pub fn run(
    options: &Options,
    file: Option<&Path>,
    unsandboxed: bool,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let tier = match unsandboxed {
        true => Tier::Unsandboxed,
        false => Tier::Sandboxed,
    };
    cancellable(options, surroundings, async |cancel| {
        evaluate(options, file, tier, surroundings, &cancel).await
    })
}

async fn evaluate(
    options: &Options,
    file: Option<&Path>,
    tier: Tier,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
) -> Result<Exit, CliError> {
    let choice = ContextChoice::of(&options.run)?;
    let conversation = Conversation::open_in(choice, Purpose::Call, options, surroundings, cancel).await?;
    let files = conversation.assembled().guests::<SchemeFiles>();
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
            let repl = Repl {
                machine,
                calls,
                context,
                cwd: surroundings.cwd.clone(),
            };
            repl.open_the_door().await;
            match surroundings.stdin_is_terminal {
                true => repl.talk(options, surroundings).await,
                false => repl.program(surroundings).await,
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

/// A machine in which a file was loaded.
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

/// What a file has defined, in a line.
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

impl Repl {
    /// Evaluates the piped program.
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

    /// Evaluates what is typed, until the user leaves.
    async fn talk(&self, options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
        let signals = &surroundings.signals;
        let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
        let names = Arc::new(Mutex::new(self.machine.names()));
        let mut lines = Lines::reading(line::editor(
            &folders.scheme_history_file(),
            Arc::clone(&names),
            surroundings,
        ));
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
                next = self.run_line(line.trim(), surroundings) => next?,
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

    /// Evaluates a line, or runs the command of the prompt that it is.
    async fn run_line(&self, line: &str, surroundings: &Surroundings) -> Result<Next, CliError> {
        if line.is_empty() {
            return Ok(Next::GoOn);
        }
        match line.strip_prefix(',') {
            Some(word) => self.command(word, surroundings).await,
            None => self.show(line, surroundings).await.map(Shown::next),
        }
    }
}
