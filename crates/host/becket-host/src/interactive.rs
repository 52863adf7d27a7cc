//! Everything that guests bring to a session besides hooks and tools: commands and keys, completions, prompts that can
//! be called by name, models, and drawings on the screen.

use std::any::Any;
use std::sync::Arc;

use becket_agent::prompt_library::PromptLibrary;
use becket_agent::provider::Provider;
use becket_agent::session_handle::SessionHandle;
use becket_screen::{Candidate, Completions, Key};
use becket_tools::Models;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::drawing::Drawing;
use crate::place::GuestSearch;

/// A command that a line calls, ready to run.
pub type CalledCommand = Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, CommandEnd> + Send>;

/// The program's own completions, given the text before the cursor and whether the user asked for them.
pub type Completes = Box<dyn Fn(&str, bool) -> BoxFuture<'static, Completions> + Send + Sync>;

/// Picks the tools that the model is offered.
pub trait ToolChoice: Send + Sync {
    /// The names of the tools with which a session begins; `None` changes nothing.
    fn first(&self, tools: &[SessionTool]) -> Option<Vec<String>>;

    /// Whether guests may let the model have this tool later.
    fn allows(&self, name: &str) -> bool;
}

/// A tool of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTool {
    /// The tool's name, as guests know it.
    pub name: String,
    /// Whether the model would be offered the tool if nobody chose.
    pub is_active: bool,
    /// Whether the tool is becket's own.
    pub is_builtin: bool,
}

/// Guests with which the session and the user interact. Every method has a default that does nothing.
pub trait Interactive: Any + Send + Sync {
    /// The provider for the model with that name, if a guest brings it.
    fn provider(&self, name: Option<&str>) -> Option<Result<Arc<dyn Provider>, String>> {
        let _ = name;
        None
    }

    /// The names of the providers that guests bring.
    fn provider_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// How many tokens a guest's model can take, if the guest says so.
    fn context_window(&self, provider: &dyn Provider) -> Option<u64> {
        let _ = provider;
        None
    }

    /// Finds models by their names: those of guests first, then the others.
    fn models(&self, others: Models) -> Models {
        others
    }

    /// The options that guests add to the command line.
    fn flags(&self) -> Vec<GuestFlag> {
        Vec::new()
    }

    /// Sets the options that guests add to the command line, as they were given.
    fn set_flags(&self, given: &[GivenFlag]) {
        let _ = given;
    }

    /// The session handle that guests see and steer the session with.
    fn handle(&self) -> Option<SessionHandle> {
        None
    }

    /// Draws for guests on a screen.
    fn drawing(&self) -> Option<Box<dyn Drawing>> {
        None
    }

    /// Lets guests act from now on: the session is about to begin.
    fn bind(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Starts the guests again, for another session that is about to begin.
    fn renew(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Loads the guests' files again in the middle of a session. Returns remarks about them; the error says why the
    /// guests stay as they are.
    fn reload<'a>(
        &'a self,
        place: &'a GuestSearch<'a>,
        has_agent_file: bool,
    ) -> BoxFuture<'a, Result<Vec<String>, String>> {
        let _ = (place, has_agent_file);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Delivers the messages that guests have sent to each other, before the session ends.
    fn settle(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Rewrites the file of the session, if a guest has asked for it.
    fn renew_session_file(&self) {}

    /// Lets a choice decide, at the beginning of each session and before guests see its tools, which of them the model
    /// is offered.
    fn choose_tools(&self, choice: Box<dyn ToolChoice>) {
        let _ = choice;
    }

    /// The commands that can be typed, with their slashes, and what they do.
    fn commands(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The command that a line calls.
    fn command(&self, line: &str) -> Option<CalledCommand> {
        let _ = line;
        None
    }

    /// The possible arguments of a command.
    fn complete_argument<'a>(&'a self, command: &'a str, prefix: &'a str) -> BoxFuture<'a, Vec<Candidate>> {
        let _ = (command, prefix);
        Box::pin(async { Vec::new() })
    }

    /// The prompts and skills that can be called by name.
    fn prompts(&self) -> Option<Arc<dyn Prompts>> {
        None
    }

    /// Gives guests access to the program's own completions.
    fn set_completes(&self, completes: Completes) {
        let _ = completes;
    }

    /// The completions of a text, if a guest completes it.
    fn suggest<'a>(
        &'a self,
        text: &'a str,
        before: &'a str,
        forced: bool,
    ) -> Option<BoxFuture<'a, Completions>> {
        let _ = (text, before, forced);
        None
    }

    /// The keys that guests have bound.
    fn shortcut_keys(&self) -> Vec<String> {
        Vec::new()
    }

    /// The action that a guest has bound to a key; the error says what went wrong.
    fn shortcut(&self, key: &Key) -> Option<BoxFuture<'static, Result<(), String>>> {
        let _ = key;
        None
    }

    /// Offers a key to guests that want to see it first. Returns whether one has taken it.
    fn intercepted(&self, key: &Key) -> bool {
        let _ = key;
        false
    }

    /// Whether the user types in a guest's editor.
    fn has_editor(&self) -> bool {
        false
    }

    /// Sets the text of a guest's editor. Returns whether there is one.
    fn tell_editor(&self, text: &str) -> bool {
        let _ = text;
        false
    }

    /// Runs a shell command of the user through a guest, in place of the shell.
    fn run_shell<'a>(&'a self, run: GuestShell<'a>) -> BoxFuture<'a, Result<ShellEnd, String>> {
        let _ = run;
        Box::pin(async { Err("no session can run it".into()) })
    }
}

/// Guests that do not interact.
pub struct NoInteraction;

impl Interactive for NoInteraction {}

/// Prompt templates and skills, which the user calls by name.
pub trait Prompts: PromptLibrary {
    /// Whether a line calls a prompt or skill.
    fn is_called(&self, line: &str) -> bool;

    /// The prompts and skills with slash, arguments and description, as lines for the user.
    fn listed(&self) -> String;

    /// The names of the prompts and skills, with their slashes, and their descriptions.
    fn names(&self) -> Vec<(String, String)>;
}

/// How far a guest's command has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    /// The command is done.
    Done,
    /// The command has failed.
    Threw {
        /// The error and its place.
        why: String,
        /// The error's message alone.
        message: String,
    },
    /// The command waits for input that only the user could give, and says so.
    Waits(String),
    /// The user cancelled the command.
    Cancelled,
}

/// An option that a guest adds to the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestFlag {
    /// The guest.
    pub guest: String,
    /// The long name, without hyphens.
    pub name: String,
    /// What the option does.
    pub description: Option<String>,
    /// Whether the option takes a text.
    pub takes_text: bool,
}

/// A guest's option that the command line sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenFlag {
    /// The long name, without hyphens.
    pub name: String,
    /// The text, for an option that takes one.
    pub text: Option<String>,
}

/// A shell command of the user that a guest runs.
pub struct GuestShell<'a> {
    /// The guest that runs the command, as a hook has answered.
    pub runner: &'a Value,
    /// The shell command.
    pub command: &'a str,
    /// The directory in which the command runs.
    pub directory: &'a str,
    /// Receives the command's output.
    pub parts: UnboundedSender<String>,
    /// Cancels the command.
    pub cancel: &'a CancellationToken,
}

/// The end of a shell command that a guest ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellEnd {
    /// The part of the output that was not sent yet.
    pub output: Option<String>,
    /// The exit code.
    pub exit_code: Option<i32>,
    /// The reason why the command failed.
    pub error: Option<String>,
}
