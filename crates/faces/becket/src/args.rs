//! The command line. The doc comments are the manual: help, man page and `docs/cli.md` are made from them.

use std::ffi::OsString;
use std::path::PathBuf;

use becket_agent::provider::ThinkingLevel;
use becket_host::GuestOptions;
use becket_run::Hosts;
use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args as _, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::guest_options;

/// An agent in which hooks fire: see, shape and guard what it does.
///
/// Give it a prompt, or a command. Without either it starts a chat, or takes its prompt from a pipe.
#[derive(Debug, Parser)]
#[command(
    name = "becket",
    version,
    long_version = LONG_VERSION,
    args_conflicts_with_subcommands = false,
    subcommand_negates_reqs = true
)]
#[command(
    after_help = "Extensions (-e) may have options of their own; `becket hooks list` shows them.\n\n\
                        Exit codes: 0 answered, 1 failed, 2 usage or configuration, 3 provider, 4 untrusted guard, \
                        5 limit reached, 6 a replay differs, 129 hung up, 130 cancelled, 143 terminated."
)]
pub struct Args {
    #[command(flatten)]
    pub asked: PromptArgs,

    #[command(subcommand)]
    pub command: Option<Command>,

    /// The options about guests.
    #[arg(skip)]
    pub guests: GuestOptions,
}

/// The version with what the program was built from.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("BECKET_BUILT_FROM"),
    "\nfeatures: ",
    env!("BECKET_FEATURES")
);

/// A command line without a command.
#[derive(Debug, clap::Args)]
pub struct PromptArgs {
    #[command(flatten)]
    pub options: OptionArgs,

    /// What the model is asked. One argument: quote it.
    #[arg(value_name = "PROMPT")]
    pub prompt: Vec<String>,
}

/// Options that every command understands.
#[derive(Debug, Clone, clap::Args)]
pub struct OptionArgs {
    /// The context: a named conversation that goes on from run to run. It stays the current one of this
    /// project for later runs.
    ///
    /// `-` goes back to the previous one; `new` and `new:PREFIX` make a fresh one. Without a prompt, and without a
    /// terminal to chat at, it only switches.
    #[arg(short = 'c', long, global = true, value_name = "NAME")]
    pub context: Option<String>,

    /// The context for this run only; the current one stays what it is.
    #[arg(
        short = 'C',
        long,
        global = true,
        value_name = "NAME",
        conflicts_with = "context"
    )]
    pub transient: Option<String>,

    /// The model, as provider/name; `rehearsal` needs no key, `scripted/FILE` plays a file.
    #[arg(short = 'm', long, global = true, value_name = "MODEL")]
    pub model: Option<String>,

    /// Send the spans of the run to a collector of OpenTelemetry when it ends, by OTLP over HTTP. Without an address it
    /// is that of the settings, of OTEL_EXPORTER_OTLP_ENDPOINT, or http://127.0.0.1:4318. Nobody waits for it.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub otel: Option<String>,

    /// Run without this plugin, extension or Scheme file, which then guards nothing; may be given several times. Each
    /// is named at every start. `without` in the settings says the same for every run.
    #[arg(long, global = true, value_name = "NAME")]
    pub without: Vec<String>,

    /// A picture to send with the prompt: PNG, JPEG, GIF or WebP; may be given several times.
    #[arg(long, global = true, value_name = "FILE")]
    pub image: Vec<PathBuf>,

    /// The names by which the model knows the tools: becket, chibi, docker-agent, pi. Or the only tools that it is
    /// offered, by pi's names: `read,grep,ls`; `none` for none, `--tools=-bash` for all but one, `--tools=-builtin` for
    /// those of guests.
    #[arg(long, global = true, value_name = "PROFILE")]
    pub tools: Option<String>,

    /// Answer every question to the user with yes. Guards and deny rules still count.
    #[arg(short = 'y', long, global = true)]
    pub yes: bool,

    /// Trust what is found in the working directory, for this run; `becket hooks trust` does it for longer.
    #[arg(long, global = true)]
    pub trust: bool,

    /// Print machine-readable output: every event of a run as one JSON line, lists as JSON.
    #[arg(long, global = true)]
    pub json: bool,

    /// Let hooks set up the project before the session begins (the event `setup`).
    #[arg(long, conflicts_with = "maintenance")]
    pub init: bool,

    /// Let hooks maintain the project before the session begins (the event `setup`).
    #[arg(long)]
    pub maintenance: bool,

    /// How many requests one prompt may cause.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_iterations: Option<u32>,

    /// How many rounds of tools one prompt may cause; 0 for no limit.
    #[arg(long, global = true, value_name = "N")]
    pub fuel: Option<u32>,

    /// Put configuration, data and cache under this folder. Also: BECKET_HOME.
    #[arg(long, global = true, value_name = "FOLDER")]
    pub home: Option<PathBuf>,

    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,

    /// pi's options.
    #[command(flatten)]
    pub pi: PiOptions,
}

/// Options by which pi is run, for programs that run becket in its place.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options of pi")]
pub struct PiOptions {
    /// Speak as pi does to other programs: `text` is the answer, `json` every event as one line, `rpc` takes commands
    /// from standard input besides. A run begins with a fresh context unless one is named, and has pi's exit codes.
    #[arg(long, value_name = "MODE", conflicts_with = "json")]
    pub mode: Option<RunMode>,

    /// Ask once and end. Several prompts are asked one after the other.
    #[arg(short = 'p', long)]
    pub print: bool,

    /// Keep nothing: the context of this run is destroyed at its end.
    #[arg(long, conflicts_with_all = ["context", "transient", "session", "go_on"])]
    pub no_session: bool,

    /// With `--mode`: go on in the current context, as becket does without `--mode`.
    #[arg(long = "continue", conflicts_with_all = ["context", "transient", "session"])]
    pub go_on: bool,

    /// Go on in the context of this session: its id, the beginning of it, or the name of the context.
    #[arg(long, value_name = "ID", conflicts_with_all = ["context", "transient"])]
    pub session: Option<String>,

    /// The provider of the model that `--model` names.
    #[arg(long, value_name = "NAME", requires = "model")]
    pub provider: Option<String>,

    /// How much the model thinks: off, minimal, low, medium, high, xhigh.
    #[arg(long, value_name = "LEVEL", value_parser = thinking_level)]
    pub thinking: Option<ThinkingLevel>,

    /// The agent's instructions in place of the usual ones, or a file that holds them.
    #[arg(long, value_name = "TEXT|FILE")]
    pub system_prompt: Option<String>,

    /// More instructions behind them, or a file that holds some; may be given several times.
    #[arg(long, value_name = "TEXT|FILE")]
    pub append_system_prompt: Vec<String>,
}

/// How becket speaks to the program that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RunMode {
    /// Only the answer.
    Text,
    /// Every event as one line of JSON.
    Json,
    /// Every event as one line of JSON, and commands are read from standard input.
    Rpc,
}

fn thinking_level(word: &str) -> Result<ThinkingLevel, String> {
    serde_json::from_value(word.into())
        .map_err(|_| "there are off, minimal, low, medium, high, xhigh".to_owned())
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask the model; what is piped in is added to the prompt.
    ///
    /// `becket ask -- TEXT` is always a prompt, whatever TEXT looks like.
    Ask {
        /// What the model is asked.
        #[arg(value_name = "PROMPT")]
        prompt: Vec<String>,
        /// Take no notice of what is piped in.
        #[arg(long)]
        no_stdin: bool,
    },
    /// Talk with the model.
    Chat,
    #[cfg(feature = "scheme")]
    /// Try Scheme as files under `vfs:///tools` find it: type forms, or pipe them in.
    ///
    /// The libraries of such files are there, and `call-tool` calls tools as they do, through hooks and gate. What is
    /// piped in is evaluated as one program, and its last value is printed.
    Scheme {
        /// A file to load first.
        file: Option<PathBuf>,
        /// Allow what only unsandboxed files may do: `(harness io)`, and longer computations.
        #[arg(long)]
        unsandboxed: bool,
    },
    #[cfg(feature = "docker-agent")]
    /// Run an agent file of docker-agent's: ask its agent, or talk with it.
    ///
    /// Its agents have the models, tools, hooks and rules that the file gives them, and no others. Naming the file is a
    /// yes to its hooks. What is piped in is added to the prompt; without a prompt it is a chat. `--model` counts for
    /// all agents.
    Run {
        /// The agent file.
        file: PathBuf,
        /// What the agent is asked; `/NAME words` is one of its commands, `-` reads it from standard input.
        #[arg(value_name = "PROMPT")]
        prompt: Vec<String>,
        /// The agent to talk to; the one called `root`, or the first, when absent.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// Put a summary in the place of a context's conversation, so that it takes less room.
    Compact {
        /// The context; the current one, or the one that `-C` names, when absent. `-c` switches first.
        name: Option<String>,
        /// What the summary should pay attention to.
        #[arg(long, value_name = "TEXT")]
        instructions: Option<String>,
    },
    /// List the contexts; the current one of this project is marked.
    Contexts,
    /// Look after one context: its conversation, its settings, its life.
    ///
    /// Without NAME it is the current one, or the one that `-C` names. `-c` switches first.
    Context {
        #[command(subcommand)]
        command: ContextCommand,
    },
    /// List the sessions of all contexts, newest first, or look after the tree of one conversation.
    ///
    /// A conversation is a tree of entries: whoever goes back to an earlier one goes on in another branch. The commands
    /// are about the current context, or the one that `-C` names; `-c` switches first. ENTRY is an entry's id, the
    /// beginning of one if that is enough to tell it from the others, or its label.
    Sessions {
        #[command(subcommand)]
        command: Option<SessionsCommand>,
    },
    #[cfg(feature = "web")]
    /// Show the sessions in a browser on this machine: timelines with every turn, request, tool call and hook, live.
    ///
    /// Prints the address to open, which holds a token that is made anew each time; BECKET_WEB_TOKEN names another.
    /// Nothing can be changed there. Ctrl-C ends it.
    Web {
        /// The port of 127.0.0.1 to take; any that is free when absent.
        #[arg(long, value_name = "PORT", default_value = "0", hide_default_value = true)]
        port: u16,
        /// Open it in the browser.
        #[arg(long)]
        open: bool,
    },
    /// The workbench: see, check, fire, explain, test and measure hooks.
    Hooks {
        /// The hooks of this agent file of docker-agent's count, as under `becket run`.
        #[arg(long, global = true, value_name = "FILE")]
        agent_file: Option<PathBuf>,
        #[command(subcommand)]
        command: HooksCommand,
    },
    /// Let other agents ask becket's hooks: Claude Code, Codex, Gemini CLI, Cursor and GitHub Copilot.
    ///
    /// An agent that asks runs `becket bridge SYSTEM EVENT` as its hook, with the question on standard input. What
    /// cannot be judged is refused.
    #[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
    Bridge {
        #[command(subcommand)]
        command: Option<BridgeCommand>,
        #[command(flatten)]
        asked: AskedBy,
    },
    #[cfg(feature = "chibi")]
    /// List the plugins of the chibi home, or call one.
    ///
    /// A call passes all hooks and the gate, like a call of the model's. Its arguments go to the plugin as `args`.
    Plugin {
        /// The plugin, or one of its tools.
        name: Option<String>,
        /// What the plugin is given.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Show what happened in a session: its turns, requests, tool calls and hook runs, with times, decisions and
    /// rewrites.
    Trace(TraceArgs),
    /// Run a recorded session again against the hooks as they are now, and show every decision and rewrite that
    /// differs.
    ///
    /// There is no model, and nothing is done: events are fired as they were recorded. The hooks themselves run. Exit
    /// code 0 when nothing differs, 6 when something does.
    Replay(ReplayArgs),
    /// The audit log: every decision and what was done, chained so that no change goes unnoticed.
    ///
    /// Alone it shows the ledger of each session: what was permitted, and what was done.
    Audit {
        #[command(subcommand)]
        command: Option<AuditCommand>,
    },
    /// Look after the rules that were stored at a question ("always allow this in this project").
    ///
    /// They lie in becket's own folder, a file for each project, and never in the project. Alone it lists them.
    Permissions {
        #[command(subcommand)]
        command: Option<PermissionsCommand>,
    },
    /// Call a tool, of becket's own or of a plugin, through all hooks and the gate.
    Tool {
        /// The tool's name.
        name: String,
        /// The arguments of the tool as a JSON object; `-` reads them from standard input.
        #[arg(value_name = "JSON", default_value = "{}")]
        arguments: String,
    },
    #[cfg(feature = "mcp")]
    /// Look at MCP servers and what they offer.
    ///
    /// Their tools are named `SERVER_TOOL`. The model calls them like its other tools, and so does `becket tool`.
    Mcp {
        #[command(subcommand)]
        command: McpCommand,
    },
    /// Look at the virtual file system, and change it.
    ///
    /// An address is written `vfs:///shared/notes.md` or `/shared/notes.md`. What is done here is the user's own
    /// doing: every zone is open, and no hook is asked.
    Vfs {
        #[command(subcommand)]
        command: VfsCommand,
    },
    /// Look after tool outputs that were too large for the model and were put aside.
    Cache {
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// Send a message to a context, in the name of the current one. It is shown there with the next prompt.
    Send {
        /// The context that gets the message, or whoever a hook knows by that name.
        to: String,
        /// The text of the message. One argument: quote it. `-` reads it from standard input.
        text: String,
        /// Who is named as the writer; the current context, or the one of `-c` or `-C`, when absent.
        #[arg(long, value_name = "NAME")]
        from: Option<String>,
    },
    /// Wake a context, or all, for which messages wait: the model there deals with them now.
    Inbox {
        /// The context; all of them when absent.
        name: Option<String>,
        /// Only show the messages that wait; nobody is woken.
        #[arg(long, conflicts_with = "wake")]
        show: bool,
        /// Wake them, which happens without a word, too.
        #[arg(long)]
        wake: bool,
    },
    /// Look after flocks: groups of contexts that share goals, instructions, tasks and files.
    Flock {
        #[command(subcommand)]
        command: FlockCommand,
    },
    #[cfg(feature = "index")]
    /// Look up where things are defined and used in the project's code.
    Index {
        #[command(subcommand)]
        command: IndexCommand,
    },
    /// Take back the last turn that changed files here, or the last restore. Needs `snapshots.enabled`.
    ///
    /// Files that the turn changed become what they were before it; all others stay. It is refused, and nothing is
    /// touched, if one of these files has changed since.
    Undo {
        /// Take back only the last call of a tool.
        #[arg(long)]
        call: bool,
        /// Bring files back also if they have changed since. What they hold now stays in a checkpoint.
        #[arg(long)]
        force: bool,
    },
    /// Take back the last undo.
    Redo {
        /// Bring files back also if they have changed since. What they hold now stays in a checkpoint.
        #[arg(long)]
        force: bool,
    },
    /// Look at the checkpoints of the working directory, and go back to one.
    Snapshots {
        #[command(subcommand)]
        command: Option<SnapshotsCommand>,
    },
    /// Try the policy for addresses of the web.
    Url {
        #[command(subcommand)]
        command: UrlCommand,
    },
    /// Show the configuration in effect, and where it comes from.
    Config,
    /// Look for what may be wrong: configuration, store, hooks, plugins, servers, extensions.
    Doctor {
        /// Say of every file in this folder that another agent runs whether becket runs it too: whole, with remarks, or
        /// not at all. Nothing is run, and nothing is fetched.
        #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
        files: Option<PathBuf>,
    },
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
    #[cfg(feature = "jq")]
    /// becket's own jq, for hooks on machines that have none.
    ///
    /// It is listed here so that its name is known; what follows it is read before becket's own options are.
    #[command(hide = true)]
    Jq,
}

/// What can be done about bridges to other agents.
#[derive(Debug, Subcommand)]
pub enum BridgeCommand {
    /// Enter becket in the hooks of an agent, for each of its events. Shows the change first; the file as it was is
    /// kept beside it.
    Install {
        #[command(flatten)]
        target: BridgeTarget,
        /// Refuse nothing, and keep what would have been refused for `becket bridge report`.
        #[arg(long)]
        shadow: bool,
    },
    /// Take becket out of the hooks of an agent again.
    Uninstall {
        #[command(flatten)]
        target: BridgeTarget,
    },
    /// Show which agents ask becket, what hinders them, and which guards they cannot ask.
    Status,
    /// Show what would have been refused where becket is installed with `--shadow`.
    Report {
        /// How far to look back, such as `12h` or `7d`.
        #[arg(long, value_name = "TIME", default_value = "7d")]
        since: String,
    },
    /// The daemons that keep hooks loaded between the questions of other agents, one for each project.
    ///
    /// They start and end by themselves. Without one, each question loads the hooks; the answers are the same.
    Daemon {
        #[command(subcommand)]
        command: DaemonCommand,
    },
}

/// Commands about daemons.
#[derive(Debug, Subcommand)]
pub enum DaemonCommand {
    /// Show the daemons that run, and the sessions for which they keep hooks loaded.
    Status,
    /// End all daemons. The next question starts a new one.
    Stop,
    /// Be the daemon of a project, until nobody has asked for long. `becket-hook` starts it.
    Run {
        /// The project.
        #[arg(long, value_name = "FOLDER")]
        project: PathBuf,
        /// How long to wait for a question.
        #[arg(long, value_name = "SECONDS", default_value_t = 15 * 60)]
        idle: u64,
    },
}

/// A question of another agent.
#[derive(Debug, clap::Args)]
pub struct AskedBy {
    /// The agent that asks.
    #[arg(requires = "event")]
    pub system: Option<String>,
    /// What it asks about, by its own name for the event.
    pub event: Option<String>,
    /// Refuse nothing, and keep what would have been refused for `becket bridge report`.
    #[arg(long)]
    pub shadow: bool,
    /// How many milliseconds the agent has waited already.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 0, hide = true)]
    pub elapsed: u64,
}

/// A file of an agent in which becket is entered.
#[derive(Debug, clap::Args)]
pub struct BridgeTarget {
    /// The agent: `claude-code`, `codex`, `gemini`, `cursor` or `copilot`.
    pub system: String,
    /// The user's own file; the default.
    #[arg(long, conflicts_with = "project")]
    pub user: bool,
    /// The file of the project.
    #[arg(long)]
    pub project: bool,
    /// Only show the change.
    #[arg(long)]
    pub dry_run: bool,
}

/// What can be done with stored rules.
#[derive(Debug, Subcommand)]
pub enum PermissionsCommand {
    /// List the rules of all projects, with the file in which they lie; `*` marks this project.
    List,
    /// Remove a rule.
    Remove {
        /// The number of the rule in the list, or its text.
        which: String,
    },
}

/// What can be done with a context.
#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// Show what there is to know about a context.
    Show {
        /// The context.
        name: Option<String>,
    },
    /// Make a context without entering it.
    Create {
        /// The name of the new context.
        name: String,
        /// Leave a context as it is that exists already.
        #[arg(long)]
        if_new: bool,
    },
    /// Give a context another name: `rename NEW` for the current one, `rename OLD NEW` for any.
    Rename {
        /// The new name, or the old one and the new one.
        #[arg(value_name = "[OLD] NEW", required = true, num_args = 1..=2)]
        names: Vec<String>,
    },
    /// Archive the conversation: the next prompt begins a new one, and `export --archived` still shows the old.
    Clear {
        /// The context.
        name: Option<String>,
    },
    /// Remove a context for good: its conversation, its archive, its settings, its files. Asks first.
    Destroy {
        /// The context.
        name: Option<String>,
    },
    /// Show, set or remove the context's own system prompt.
    Prompt {
        /// The context.
        name: Option<String>,
        /// Set the system prompt to this text.
        #[arg(long, value_name = "TEXT", conflicts_with_all = ["file", "remove"])]
        set: Option<String>,
        /// Set the system prompt to what a file says; `-` is standard input.
        #[arg(long, value_name = "FILE", conflicts_with = "remove")]
        file: Option<PathBuf>,
        /// Remove the system prompt; the usual one counts again.
        #[arg(long)]
        remove: bool,
    },
    /// Change a setting of the context: model, temperature, max_tokens, fuel, fallback, destroy_at,
    /// destroy_after_inactive.
    Set {
        /// The setting.
        key: String,
        /// The value; for destroy_at a time such as `2027-01-31 18:00`, for destroy_after_inactive one such as `7d`.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// The context.
        name: Option<String>,
    },
    /// Take a setting of the context away; what is usual counts again.
    Unset {
        /// The setting.
        key: String,
        /// The context.
        name: Option<String>,
    },
    /// Show the last entries of the conversation.
    Log {
        /// The context.
        name: Option<String>,
        /// How many entries to show.
        #[arg(short = 'n', long, value_name = "N", default_value = "20",
              value_parser = clap::value_parser!(u32).range(1..))]
        count: u32,
    },
    /// Print the conversation as JSON lines, one for each entry.
    Export {
        /// The context.
        name: Option<String>,
        /// Print the archived conversations instead, the oldest first.
        #[arg(long)]
        archived: bool,
    },
}

/// What can be done with the tree of a conversation.
#[derive(Debug, Clone, Subcommand)]
pub enum SessionsCommand {
    /// Draw the conversation with all its branches.
    Tree {
        /// The context.
        #[arg(value_name = "CONTEXT")]
        name: Option<String>,
    },
    /// Show one entry with everything that it says.
    Show {
        /// The entry.
        id: String,
    },
    /// Go on from another entry. Where the user speaks there, go on from before it, and print what was said.
    Goto {
        /// The entry.
        entry: String,
        /// Let the model sum up the branch that is left; WORDS say what to pay attention to.
        #[arg(long, value_name = "WORDS", num_args = 0..=1, default_missing_value = "")]
        summary: Option<String>,
        /// A label for the entry.
        #[arg(long)]
        label: Option<String>,
    },
    /// Make a new context with the conversation up to an entry, and print its name.
    Fork {
        /// The entry.
        entry: String,
        /// Include the entry; usual unless the user speaks there.
        #[arg(long, conflicts_with = "before")]
        at: bool,
        /// Leave the entry out; usual where the user speaks.
        #[arg(long)]
        before: bool,
        /// The name of the new context.
        #[arg(long, value_name = "NAME")]
        to: Option<String>,
    },
    /// Label an entry; without TEXT take its label away.
    Label {
        /// The entry.
        entry: String,
        /// The label.
        text: Option<String>,
    },
    /// Give the conversation a name; an empty one takes it away.
    Name {
        /// The name.
        name: String,
    },
    /// Write the conversation as a session file of another program's.
    Export {
        /// The context.
        #[arg(value_name = "CONTEXT")]
        name: Option<String>,
        /// The program whose format is written.
        #[arg(long, value_name = "SYSTEM", default_value = "pi", value_parser = session_formats())]
        format: String,
        /// The file; standard output if not said.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Make a new context from a session file of pi's, and print its name.
    Import {
        /// The file, or the beginning of a session's id in pi's own folder.
        file: PathBuf,
        /// The name of the new context.
        #[arg(long, value_name = "NAME")]
        to: Option<String>,
    },
}

impl SessionsCommand {
    /// The context that the command names.
    pub fn named(&self) -> Option<&str> {
        match self {
            Self::Tree { name } => name.as_deref(),
            Self::Export { name, .. } => name.as_deref(),
            _ => None,
        }
    }
}

impl ContextCommand {
    /// The context that the command names, if it names one.
    pub fn named(&self) -> Option<&str> {
        match self {
            Self::Show { name }
            | Self::Clear { name }
            | Self::Destroy { name }
            | Self::Prompt { name, .. }
            | Self::Set { name, .. }
            | Self::Unset { name, .. }
            | Self::Log { name, .. }
            | Self::Export { name, .. } => name.as_deref(),
            Self::Create { name, .. } => Some(name),
            Self::Rename { names } => match names.as_slice() {
                [old, _] => Some(old),
                _ => None,
            },
        }
    }
}

/// What can be done with checkpoints.
#[derive(Debug, Subcommand)]
pub enum SnapshotsCommand {
    /// List the checkpoints, oldest first, and say how much room they take.
    List,
    /// Show what has changed since a checkpoint, or between two.
    Diff {
        /// The checkpoint.
        from: u64,
        /// The other checkpoint; the folder as it is now when absent.
        to: Option<u64>,
    },
    /// Bring the whole folder back to a checkpoint. `becket undo` takes that back.
    Restore {
        /// The checkpoint.
        id: u64,
    },
    /// Remove checkpoints that are older than `snapshots.max_age_days`. It also happens by itself, at the end of a run.
    Clean,
}

/// What can be done with the virtual file system.
#[derive(Debug, Subcommand)]
pub enum VfsCommand {
    /// List a folder.
    Ls {
        /// The folder; the zones when absent.
        #[arg(default_value = "/")]
        address: String,
        /// Show also names that begin with a dot.
        #[arg(short = 'a', long)]
        all: bool,
    },
    /// Print a file.
    Cat {
        /// The file.
        address: String,
    },
    /// Write a file, from another one or from standard input.
    Put {
        /// The file to write.
        address: String,
        /// Where the content comes from; standard input when absent or `-`.
        file: Option<String>,
    },
    /// Copy a file to one outside, or to standard output.
    Get {
        /// The file to read.
        address: String,
        /// Where the content goes; standard output when absent or `-`.
        file: Option<String>,
    },
    /// Remove files, and folders.
    Rm {
        /// The files.
        #[arg(required = true)]
        addresses: Vec<String>,
        /// Remove folders with everything in them.
        #[arg(short = 'r', long)]
        recursive: bool,
    },
    /// Make a folder, with those above it.
    Mkdir {
        /// The folder.
        address: String,
    },
    /// Move or rename a file or a folder.
    Mv {
        /// What to move.
        from: String,
        /// The new address.
        to: String,
    },
    /// Copy a file.
    Cp {
        /// What to copy.
        from: String,
        /// The address of the copy.
        to: String,
    },
    #[cfg(feature = "scheme")]
    /// Trust files in Scheme that a model wrote: from now on their hooks count, and their tools need no yes.
    Trust {
        /// The files.
        #[arg(required = true)]
        addresses: Vec<String>,
    },
    /// Tell what something is, how large, and when it was changed.
    Info {
        /// The file or folder.
        address: String,
    },
}

/// What can be done with cached outputs.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// List the outputs, of one context or of all.
    List {
        /// The context.
        name: Option<String>,
    },
    /// Remove outputs that are older than `cache.max_age_days`. This also happens by itself, at the end of a run.
    Clean {
        /// The context.
        name: Option<String>,
    },
    /// Remove all outputs, of one context or of all.
    Clear {
        /// The context.
        name: Option<String>,
    },
}

/// What can be done with MCP servers.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List the servers, where they come from and what is known of them. None is started.
    List,
    /// List the tools of all servers, or of one; a server of which nothing is known is asked.
    Tools {
        /// The server.
        server: Option<String>,
    },
    /// Start all servers, or one, and ask them afresh what they offer.
    Check {
        /// The server.
        server: Option<String>,
    },
}

/// What can be done with flocks.
#[derive(Debug, Subcommand)]
pub enum FlockCommand {
    /// Make a flock.
    Create {
        /// The name of the flock: small letters, digits and hyphens.
        flock: String,
    },
    /// Take a flock off the list. Its files stay.
    Delete {
        /// The flock.
        flock: String,
    },
    /// Let a context join a flock, which is made if it is new.
    Join {
        /// The flock.
        flock: String,
        /// The context; the current one, or the one that `-c` or `-C` names, when absent.
        #[arg(value_name = "CONTEXT")]
        name: Option<String>,
    },
    /// Let a context leave a flock.
    Leave {
        /// The flock.
        flock: String,
        /// The context; the current one, or the one that `-c` or `-C` names, when absent.
        #[arg(value_name = "CONTEXT")]
        name: Option<String>,
    },
    /// List the flocks with their members.
    List,
}

/// What can be done with the code index.
#[derive(Debug, Subcommand)]
pub enum IndexCommand {
    /// Read the files that have changed since the last time, through all hooks and rules.
    Update {
        /// Read all files again.
        #[arg(long)]
        force: bool,
    },
    /// Find symbols by a part of their name, or the places that use a name.
    Query {
        /// A part of the name, in any case.
        name: Option<String>,
        /// Only symbols of this kind, such as function, method, struct, class.
        #[arg(long, value_name = "KIND")]
        kind: Option<String>,
        /// Only files with this in their path.
        #[arg(long, value_name = "PART")]
        file: Option<String>,
        /// Only files in this language, such as rust or python.
        #[arg(long, value_name = "LANGUAGE")]
        language: Option<String>,
        /// Find the places that use the name instead.
        #[arg(long, requires = "name", conflicts_with_all = ["kind", "file", "language"])]
        refs: bool,
        /// How many results to show at most.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Show how large the index is.
    Status,
    /// Show the most important definitions of the project, by how much the rest of it uses them.
    Map {
        /// About how many tokens the map may have.
        #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
        tokens: u32,
        /// See the project from the view of files with this in their path.
        #[arg(long, value_name = "PART")]
        focus: Option<String>,
    },
}

/// What can be done with addresses of the web.
#[derive(Debug, Subcommand)]
pub enum UrlCommand {
    /// Say what kind of place each address leads to, and what the policy decides.
    ///
    /// Names are looked up, nothing is fetched. Ends with 1 if one of them is denied. Guards and permission rules are
    /// not asked.
    Check {
        /// The addresses.
        #[arg(value_name = "URL", required = true)]
        urls: Vec<String>,
    },
}

/// What can be done with hooks.
#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// List the hooks that count here, in the order in which they are asked, and what extensions bring.
    ///
    /// With how often each has run of late, when last, and how long it took: half of the runs took at most p50, and
    /// nearly all of them p95. Extensions are loaded for it; nothing else runs.
    List {
        /// Only the hooks of this event, in becket's words or a dialect's.
        #[arg(value_name = "EVENT")]
        event: Option<String>,
    },
    /// List the dialects, and what each calls the events.
    Dialects {
        /// Only this dialect.
        name: Option<String>,
    },
    /// Fire one event through the hooks that count here; nothing else happens.
    ///
    /// Shows what each hook reads in its own words, what it answers, what that means, how long it took, and what comes
    /// of all together. Ends with 1 if a hook failed; a refusal is an answer like any other.
    Fire(FireArgs),
    /// Run hook tests: files that say which event happens, or which session, and what must come of it.
    ///
    /// Ends with 1 if something is not as it must be.
    Test(TestArgs),
    /// Show what hooks with `shadow = true` would have refused or changed, and agents that are bridged with `--shadow`.
    Report {
        /// How far to look back, such as `12h` or `7d`.
        #[arg(long, value_name = "TIME", default_value = "7d")]
        since: String,
    },
    /// Measure what each hook costs, and its share of a turn. The hooks are really run, with documented events.
    Bench(BenchArgs),
    /// Say what would happen to a call of a tool: which hooks, rules and questions, in which order, and who decides.
    ///
    /// The hooks are really asked, unless `--dry` is given; the tool does not run, and nobody is asked for a yes.
    Explain {
        /// The tool's name.
        tool: String,
        /// The arguments of the tool as a JSON object; `-` reads them from standard input.
        #[arg(value_name = "JSON", default_value = "{}")]
        arguments: String,
        /// Ask no hooks: only say which would be asked.
        #[arg(long)]
        dry: bool,
    },
    /// Trust hooks, rules and extensions that are found in the working directory, exactly as they are.
    ///
    /// Without anything else it shows what is not trusted and asks, on a terminal. One changed byte of an entry, of a
    /// script, or of a file that it loads, and it is asked again. Ends with 4 if a guard is left that is not trusted.
    Trust(TrustArgs),
    /// List the events, or describe one with its schema.
    Events {
        /// The event.
        name: Option<String>,
        /// Only events that this dialect has, with its names for them.
        #[arg(long, value_name = "DIALECT", conflicts_with = "name")]
        dialect: Option<String>,
    },
    /// Say what is wrong with hooks, with file and line. Nothing is run.
    ///
    /// Errors that a run would end with, programs, scripts and modules that are not there, cannot be started or cannot
    /// be read, line ends of other systems, paths that the shell takes apart, answers that mean nothing at their event,
    /// fields that two hooks rewrite, events and tools that do not exist, timeouts that are too long, guards that fail
    /// open. Ends with 1 if something is wrong, and with 2 if a file cannot be read or a folder holds no hooks.
    Check {
        /// How findings are told; `sarif` is for code hosts and editors.
        #[arg(long, value_name = "FORM", default_value = "text")]
        format: CheckForm,
        /// Files with hooks, or folders with such files in them or below them: agent files, docker-agent's settings,
        /// `hooks.d`, becket's own, plugins, extensions. Without one, everything that counts here, trusted or not.
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
}

/// How findings are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckForm {
    /// Line by line; as JSON with `--json`.
    Text,
    /// SARIF 2.1.0.
    Sarif,
}

/// The arguments of `becket hooks trust`.
#[derive(Debug, Clone, clap::Args)]
pub struct TrustArgs {
    /// Only what stands in these files or folders, or is made of them. `hooks.lock` trusts what is exactly as it says.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Trust everything that the project brings.
    #[arg(long, conflicts_with = "paths")]
    pub all: bool,
    /// Show everything, trusted or not, with what has changed since it was trusted, and change nothing.
    #[arg(long, conflicts_with_all = ["all", "revoke", "lock"])]
    pub show: bool,
    /// Trust these files no longer, in no version; without PATH everything of this project.
    #[arg(long, conflicts_with = "lock")]
    pub revoke: bool,
    /// Write `hooks.lock`, from what is trusted: a file that can be committed and reviewed.
    #[arg(long, conflicts_with = "paths")]
    pub lock: bool,
}

/// The arguments of `becket hooks fire`.
#[derive(Debug, Clone, clap::Args)]
pub struct FireArgs {
    /// The event, in becket's words or a dialect's.
    pub event: String,
    /// A value of the event, such as `tool_name=shell` or `arguments.command=ls`; may be given several times. What is
    /// not set is as the documents show it.
    #[arg(long, value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// A file with fields of the event as a JSON object; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub payload: Option<PathBuf>,
    /// EVENT is a name of this dialect, and only its hooks are asked.
    #[arg(long, value_name = "DIALECT")]
    pub dialect: Option<String>,
}

/// The arguments of `becket hooks bench`.
#[derive(Debug, Clone, clap::Args)]
pub struct BenchArgs {
    /// Only the hooks of this event, in becket's words or a dialect's.
    pub event: Option<String>,
    /// A value of the event, as in `becket hooks fire`; needs EVENT.
    #[arg(long, value_name = "FIELD=VALUE", requires = "event")]
    pub set: Vec<String>,
    /// How often each hook is run.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// End with 1 if a hook needs more milliseconds than this, 95 times of 100.
    #[arg(long, value_name = "MS")]
    pub budget: Option<f64>,
}

/// The arguments of `becket hooks test`.
#[derive(Debug, Clone, clap::Args)]
pub struct TestArgs {
    /// Files of tests, or folders with files that end in `.hooktest.toml`. When absent those of the working directory
    /// and below it, which run after a yes on a terminal or with `--trust`.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Break every guard that the tests reach, in every way of the fault table, and say what comes of it here and what
    /// would have come of it in the agent that it was written for.
    #[arg(long)]
    pub faults: bool,
    /// Write the snapshots that tests compare with.
    #[arg(long)]
    pub update: bool,
}

/// The arguments of `becket trace`.
#[derive(Debug, Clone, clap::Args)]
pub struct TraceArgs {
    /// The session, or how its id begins; the newest of this project when absent.
    pub session: Option<String>,
    /// Show the newest session of any project.
    #[arg(long, conflicts_with = "session")]
    pub all: bool,
    /// Go on until the session ends.
    #[arg(short = 'f', long, conflicts_with_all = ["turns", "before"])]
    pub follow: bool,
    /// Show so many turns, the last ones [default: 100, and all for programs]; 0 shows all of them.
    #[arg(long, value_name = "COUNT")]
    pub turns: Option<u64>,
    /// Show the turns before this one.
    #[arg(long, value_name = "TURN")]
    pub before: Option<u64>,
    /// Print it in another form: `jsonl`, one line for each thing; `chrome`, for Perfetto and the browser's own viewer;
    /// `otlp`, the spans that `--otel` sends.
    #[arg(long, value_name = "FORM", conflicts_with = "follow")]
    pub export: Option<TraceForm>,
}

/// The arguments of `becket replay`.
#[derive(Debug, Clone, clap::Args)]
pub struct ReplayArgs {
    /// The session, or how its id begins, with its sub-agents; the newest of this project when absent.
    pub session: Option<String>,
    /// Replay all sessions, and sum up by hook what would have been stopped.
    #[arg(long, conflicts_with = "session")]
    pub all: bool,
    /// Only sessions that began since then: a span such as `7d`, or a moment such as `2027-01-31`.
    #[arg(long, value_name = "WHEN", requires = "all")]
    pub since: Option<String>,
}

/// What can be done with the audit log.
#[derive(Debug, Clone, Subcommand)]
pub enum AuditCommand {
    /// Go through the whole log: exit code 0 if nothing was changed, removed or moved, else 1 and the first bad record.
    Verify {
        /// A hash that `becket audit head` printed earlier: it must still be in the log.
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
    },
    /// Print the log, one JSON object per line.
    Export {
        /// Only this session and its sub-agents; the beginning of its id is enough.
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,
        /// Only what was written since then: a span such as `7d`, or a moment such as `2027-01-31`.
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
    },
    /// Print the hash of the last record, to be noted elsewhere.
    Head,
}

/// The output formats of a trace besides the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TraceForm {
    /// One line of JSON for each dispatch and each stretch of time, as they were recorded.
    Jsonl,
    /// Chrome's trace format.
    Chrome,
    /// Spans of OpenTelemetry in the JSON form of OTLP.
    Otlp,
}

/// The command line as clap knows it, for manuals and completions.
pub fn command_line() -> clap::Command {
    guest_options::add_to(Args::command()).subcommands(foreign_commands())
}

/// The commands for other programs, for the help and the manual. What follows them is not read by clap.
fn foreign_commands() -> impl Iterator<Item = clap::Command> {
    Hosts::default().foreign_clis().map(|cli| {
        let arguments = clap::Arg::new("ARGS")
            .help("The program's own options and words; `--help` lists them.")
            .action(clap::ArgAction::Append)
            .allow_hyphen_values(true)
            .trailing_var_arg(true);
        clap::Command::new(cli.name)
            .about(cli.about)
            .disable_help_flag(true)
            .arg(arguments)
    })
}

/// The command line with those commands only that the words name: describing all of them with all their options takes
/// longer than everything else at the start of the program. `None` where a word asks for help.
fn narrow_command_line(words: &[OsString]) -> Option<clap::Command> {
    let words = || words.iter().skip(1).filter_map(|word| word.to_str());
    if words().any(|word| ["help", "--help", "-h"].contains(&word)) {
        return None;
    }
    let command = PromptArgs::augment_args(clap::Command::new("becket"));
    let mut named: Vec<&str> = words().filter(|word| Command::has_subcommand(word)).collect();
    if named.is_empty() {
        return Some(guest_options::add_to(command));
    }
    named.sort_unstable();
    named.dedup();
    let all = commands();
    let found = named.into_iter().filter_map(|name| all.find_subcommand(name));
    Some(guest_options::add_to(command.subcommands(found.cloned())))
}

/// The commands, without the options that all of them have.
fn commands() -> clap::Command {
    Command::augment_subcommands(clap::Command::new("becket"))
}

/// The names of the commands.
pub fn command_names() -> Vec<String> {
    let commands = commands();
    let names = commands.get_subcommands().map(clap::Command::get_name);
    names.map(ToOwned::to_owned).collect()
}

impl Args {
    /// Parses a command line, whose first word is the program.
    pub fn parse_words(words: &[OsString]) -> Result<Self, clap::Error> {
        let narrow = narrow_command_line(words);
        let parsed = narrow.and_then(|narrow| narrow.try_get_matches_from(words).ok());
        match parsed {
            Some(matches) => Self::of(&matches),
            // Help and errors know all commands.
            None => Self::of(&command_line().try_get_matches_from(words)?),
        }
    }

    /// Converts what clap has parsed.
    pub fn of(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self {
            guests: guest_options::given(matches),
            ..Self::from_arg_matches(matches)?
        })
    }
}

/// The names of becket's own options.
pub fn own_option_names() -> Vec<String> {
    option_names(&guest_options::add_to(PromptArgs::augment_args(
        clap::Command::new("becket"),
    )))
}

/// The long names of a command's options.
pub fn option_names(command: &clap::Command) -> Vec<String> {
    let long = command.get_arguments().filter_map(clap::Arg::get_long);
    long.map(Into::into).collect()
}

/// The systems whose session files can be written.
fn session_formats() -> PossibleValuesParser {
    PossibleValuesParser::new(Hosts::default().session_files().map(|files| files.format()))
}
