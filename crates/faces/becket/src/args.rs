//! The command line. The doc comments are the manual: help, man page and `docs/cli.md` are made from them.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use becket_agent::provider::ThinkingLevel;
use becket_events::PermissionMode;
use becket_face_kit::RunMode;
use becket_front::ColorChoice;
use becket_host::GuestOptions;
use becket_record::Form;
use becket_run::Hosts;
use becket_run::config::Dollars;
use becket_run::sandbox_profile::SandboxProfile;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args as _, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::{candidates, guest_options, help};

/// A hook engine for LLM agents, and an agent that runs on it.
///
/// With a prompt, becket answers it. Without one, it starts a chat or reads the prompt from a pipe. Extensions (-e) may
/// add options; `becket hooks list` shows them.
#[derive(Debug, Parser)]
#[command(
    name = "becket",
    version,
    long_version = LONG_VERSION,
    args_conflicts_with_subcommands = false,
    subcommand_negates_reqs = true
)]
#[command(
    after_help = "Exit codes: 0 answered, 1 failed, 2 usage or configuration, 3 provider, 4 untrusted guard,\n\
                        5 limit reached, 6 a replay differs, 7 a call was refused (with --fail-on-refusal),\n\
                        129 hung up, 130 cancelled, 143 terminated."
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

    /// The prompt, as one argument: quote it.
    #[arg(value_name = "PROMPT")]
    pub prompt: Vec<String>,
}

/// Options that every command understands.
#[derive(Debug, Clone, clap::Args)]
pub struct OptionArgs {
    /// Switch to this context (a named conversation) for this and later runs here.
    ///
    /// `-` switches back to the previous one; `new` and `new:PREFIX` create one. Without a prompt and without a
    /// terminal, becket switches and does nothing else.
    #[arg(short = 'c', long, global = true, value_name = "NAME", add = candidates::contexts())]
    pub context: Option<String>,

    /// Use this context for this run only.
    #[arg(
        short = 'C',
        long,
        global = true,
        value_name = "NAME",
        conflicts_with = "context",
        add = candidates::contexts()
    )]
    pub transient: Option<String>,

    /// The model, as provider/name; `rehearsal` needs no key.
    ///
    /// `scripted/FILE` plays back the answers in a file.
    #[arg(short = 'm', long, global = true, value_name = "MODEL", add = candidates::models())]
    pub model: Option<String>,

    /// Send the run's spans to an OpenTelemetry collector when it ends, by OTLP over HTTP.
    ///
    /// Without URL, the address comes from the settings or from OTEL_EXPORTER_OTLP_ENDPOINT; default:
    /// http://127.0.0.1:4318. The run does not wait for the collector.
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub otel: Option<String>,

    /// Run without this plugin, extension or Scheme file.
    ///
    /// A guard that you leave out does not protect this run; becket says so at the start. May be repeated. The setting
    /// `without` does the same for every run.
    #[arg(long, global = true, value_name = "NAME")]
    pub without: Vec<String>,

    /// Send this picture with the prompt.
    ///
    /// PNG, JPEG, GIF or WebP. May be repeated.
    #[arg(long, global = true, value_name = "FILE")]
    pub image: Vec<PathBuf>,

    /// Tool set: an agent's (claude-code, codex, …) or a list (read,grep,ls).
    ///
    /// Agents: becket, chibi, docker-agent, pi, claude-code, codex, gemini, cursor, copilot. By default the model has
    /// the tools for work on files; `becket` offers all. Tools are listed by pi's names or becket's: `read,grep,ls`.
    /// `none` offers none, `--tools=+vfs_list` the default ones and one more, `--tools=-bash` the default ones but one,
    /// and `--tools=-builtin` only those of plugins, extensions and servers.
    #[arg(long, global = true, value_name = "PROFILE", add = candidates::profiles())]
    pub tools: Option<String>,

    /// Approve every call without asking; guards and deny rules still apply.
    #[arg(short = 'y', long, global = true, conflicts_with = "permission_mode")]
    pub yes: bool,

    /// Permission mode: ask, accept-edits, plan or yes (Shift+Tab in a chat).
    ///
    /// `ask` asks about every call that nothing allows. `accept-edits` lets the model edit and write files in the
    /// project without asking, except where hooks and settings are kept. `plan` refuses every call that writes, runs or
    /// sends something. `yes` is `--yes`. Guards and deny rules apply in each.
    #[arg(long, global = true, value_name = "MODE", value_parser = permission_mode())]
    pub permission_mode: Option<PermissionMode>,

    /// What the model's commands may touch: off, read-only or workspace[+network].
    ///
    /// The kernel enforces it. With `read-only`, commands can write nothing; with `workspace`, the project and
    /// temporary files. Both hide keys and turn off the network; with `workspace+network`, commands reach the web
    /// addresses that you allow. `becket sandbox explain` shows the details. The setting `sandbox.shell` does the same
    /// for every run.
    #[arg(long, global = true, value_name = "PROFILE", value_parser = sandbox_profile())]
    pub sandbox: Option<SandboxProfile>,

    /// Trust this project's hooks for this run.
    ///
    /// This covers everything in the project: hooks, plugins, extensions, rules. `becket hooks trust` is permanent.
    #[arg(long, global = true)]
    pub trust: bool,

    /// Print JSON lines instead of text.
    #[arg(long, global = true)]
    pub json: bool,

    /// Exit with code 7 if a call was refused: by a guard, by a rule, or because becket could not ask you.
    #[arg(long, global = true, hide_short_help = true)]
    pub fail_on_refusal: bool,

    /// Let hooks set up the project before the session begins (the event `setup`).
    #[arg(long, conflicts_with = "maintenance", hide_short_help = true)]
    pub init: bool,

    /// Let hooks maintain the project before the session begins (the event `setup`).
    #[arg(long, hide_short_help = true)]
    pub maintenance: bool,

    /// The most requests to the model that one prompt may cause; default: 1000, but no limit at a terminal.
    #[arg(long, global = true, hide_short_help = true, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub max_iterations: Option<u32>,

    /// The most rounds of tool calls that one prompt may cause; 0 for no limit.
    #[arg(long, global = true, hide_short_help = true, value_name = "N")]
    pub fuel: Option<u32>,

    /// End the run, or ask you, when it has cost this much in US dollars, sub-agents included; such as 2.50.
    ///
    /// becket does not ask a model whose price is unknown, unless you allow it at the terminal. Prices come from
    /// `prices` in the settings and from a built-in table, whose date `becket models` shows.
    // Of the type that the option of that name has in `hooks bench`: clap keeps one value for both.
    #[arg(long, global = true, hide_short_help = true, value_name = "DOLLARS", value_parser = dollars)]
    pub budget: Option<f64>,

    /// Keep configuration, data and cache in this folder. Also: BECKET_HOME.
    #[arg(long, global = true, value_name = "FOLDER")]
    pub home: Option<PathBuf>,

    /// When to use colours: auto, always or never.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", value_parser = one_of(ColorChoice::ALL))]
    pub color: ColorChoice,

    /// pi's options.
    #[command(flatten)]
    pub pi: PiOptions,
}

/// Options by which pi is run, for programs that run becket in its place.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options of pi")]
pub struct PiOptions {
    /// Talk to other programs as pi does: `text` prints the answer, `json` prints every event as one line, `rpc` also
    /// reads commands from standard input. A run starts in a new context unless one is named, and has pi's exit codes.
    #[arg(long, hide_short_help = true, value_name = "MODE", conflicts_with = "json")]
    #[arg(value_parser = one_of(RunMode::ALL))]
    pub mode: Option<RunMode>,

    /// Answer the prompt and exit. Several prompts are answered one after another.
    #[arg(short = 'p', long, hide_short_help = true)]
    pub print: bool,

    /// Keep nothing: remove the context of this run when it ends.
    #[arg(long, hide_short_help = true, conflicts_with_all = ["context", "transient", "session", "go_on"])]
    pub no_session: bool,

    /// With `--mode`: continue the current context, as becket does without `--mode`.
    #[arg(long = "continue", hide_short_help = true, conflicts_with_all = ["context", "transient", "session"])]
    pub go_on: bool,

    /// Continue the context of this session. Takes a session id, its beginning, or the name of a context.
    #[arg(long, hide_short_help = true, value_name = "ID", conflicts_with_all = ["context", "transient"])]
    #[arg(add = candidates::sessions())]
    pub session: Option<String>,

    /// Name the conversation, as `becket sessions name` does.
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub session_name: Option<String>,

    /// The provider of the model in `--model`.
    #[arg(long, hide_short_help = true, value_name = "NAME", requires = "model")]
    pub provider: Option<String>,

    /// How much the model thinks: off, minimal, low, medium, high, xhigh.
    #[arg(long, hide_short_help = true, value_name = "LEVEL", value_parser = thinking_level)]
    pub thinking: Option<ThinkingLevel>,

    /// Replace the default instructions with this text or file.
    #[arg(long, hide_short_help = true, value_name = "TEXT|FILE")]
    pub system_prompt: Option<String>,

    /// Append this text or file to the instructions; may be repeated.
    #[arg(long, hide_short_help = true, value_name = "TEXT|FILE")]
    pub append_system_prompt: Vec<String>,
}

/// Reads a permission mode; each word is shown with what it means.
fn permission_mode() -> impl TypedValueParser<Value = PermissionMode> {
    let shown = |mode: &PermissionMode| PossibleValue::new(mode.word()).help(mode.about());
    let words = PossibleValuesParser::new(PermissionMode::ALL.iter().map(shown));
    words.map(|word| PermissionMode::of_word(&word).unwrap_or_default())
}

/// Reads an amount of dollars.
fn dollars(text: &str) -> Result<f64, String> {
    text.parse::<Dollars>().map(|Dollars(amount)| amount)
}

/// Reads a profile of the sandbox; each word is shown with what it means.
fn sandbox_profile() -> impl TypedValueParser<Value = SandboxProfile> {
    let shown = |profile: SandboxProfile| PossibleValue::new(profile.word()).help(profile.about());
    let words = PossibleValuesParser::new(SandboxProfile::ALL.map(shown));
    words.map(|word| SandboxProfile::of_word(&word).unwrap_or_default())
}

/// Reads one of several words, each of which is shown with what it means.
fn one_of<T>(all: &'static [(T, &'static str, &'static str)]) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let shown = |(_, word, about): &(T, &'static str, &'static str)| PossibleValue::new(*word).help(*about);
    PossibleValuesParser::new(all.iter().map(shown)).try_map(move |word| {
        let known = all.iter().find(|(_, known, _)| *known == word);
        known
            .map(|(value, ..)| value.clone())
            .ok_or_else(|| format!("`{word}` is not known"))
    })
}

fn thinking_level(word: &str) -> Result<ThinkingLevel, String> {
    serde_json::from_value(word.into())
        .map_err(|_| "the levels are off, minimal, low, medium, high, xhigh".to_owned())
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask the model once.
    ///
    /// Piped input is added to the prompt. `becket ask -- TEXT` always takes TEXT as a prompt, even if it looks like a
    /// command.
    Ask {
        /// The prompt.
        #[arg(value_name = "PROMPT")]
        prompt: Vec<String>,
        /// Ignore piped input.
        #[arg(long)]
        no_stdin: bool,
    },
    /// Chat with the model.
    Chat,
    #[cfg(feature = "acp")]
    /// Serve as the agent of an editor, such as Zed, Neovim or a JetBrains IDE.
    ///
    /// Speaks the Agent Client Protocol over standard input and output until the input ends; the editor starts it.
    /// Options apply to all of its sessions. Hooks, guards, permissions and the record work as in a terminal, and the
    /// editor asks the questions.
    Acp,
    #[cfg(feature = "scheme")]
    /// Evaluate Scheme, typed or piped in.
    ///
    /// Code runs as files under `vfs:///tools` do: it can use their libraries, and `call-tool` goes through hooks and
    /// permissions. Piped input is evaluated as one program, and its last value is printed.
    Scheme {
        /// A file to load first.
        file: Option<PathBuf>,
        /// Allow what only unsandboxed files may do: `(harness io)`, and longer computations.
        #[arg(long)]
        unsandboxed: bool,
    },
    #[cfg(feature = "docker-agent")]
    /// Run an agent file of docker-agent: ask its agent, or chat with it.
    ///
    /// Its agents have the models, tools, hooks and rules that the file gives them, and no others. By naming the file
    /// you trust its hooks. Piped input is added to the prompt; without a prompt, a chat starts. `--model` applies to
    /// all agents.
    Run {
        /// The agent file.
        file: PathBuf,
        /// The prompt. `/NAME words` runs one of the agent's commands; `-` reads the prompt from standard input.
        #[arg(value_name = "PROMPT")]
        prompt: Vec<String>,
        /// The agent to talk to; default: `root`, or else the first.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Ignore piped input beside a prompt.
        #[arg(long)]
        no_stdin: bool,
    },
    /// Replace a conversation with its summary, to make room in the context window.
    Compact {
        /// The context; default: the one that `-C` names, or else the current one. `-c` switches first.
        name: Option<String>,
        /// What the summary should pay attention to.
        #[arg(long, value_name = "TEXT")]
        instructions: Option<String>,
    },
    /// List models, with context window, longest answer, thinking, pictures and prices.
    ///
    /// Lists the model that a run would use, those of extensions, those that providers with a key have listed, and
    /// until then those in becket's table of prices. becket asks providers with `--refresh`, or if `--provider` names
    /// one that has given no list yet.
    Models(ModelsArgs),
    /// List the contexts, as `context list` does.
    #[command(hide = true)]
    Contexts,
    /// List, show, create, clear or remove contexts, which are named conversations.
    ///
    /// NAME defaults to the context that `-C` names, or else to the current one. `-c` switches first.
    Context {
        #[command(subcommand)]
        command: ContextCommand,
    },
    /// List sessions, which are runs of a context, or edit the tree of a conversation.
    ///
    /// A conversation is a tree of entries: if you go back to an earlier entry and continue there, you start a new
    /// branch. The commands work on the context that `-C` names, or else on the current one; `-c` switches first. ENTRY
    /// is an entry's id, a unique beginning of it, or its label.
    Sessions {
        #[command(subcommand)]
        command: Option<SessionsCommand>,
    },
    #[cfg(feature = "web")]
    /// Show sessions and hooks in the browser, live.
    ///
    /// Timelines show every turn, request, tool call and hook. Prints the address to open, with a new token each time;
    /// BECKET_WEB_TOKEN sets a fixed one. The page is read-only. Ctrl-C stops the server.
    Web {
        /// The port of 127.0.0.1 to listen on; default: any free port.
        #[arg(long, value_name = "PORT", default_value = "0", hide_default_value = true)]
        port: u16,
        /// Open it in the browser.
        #[arg(long)]
        open: bool,
    },
    /// List, check, fire, explain, test, measure and trust hooks.
    Hooks {
        /// Also use the hooks of this docker-agent file, as `becket run` does.
        #[arg(long, global = true, value_name = "FILE")]
        agent_file: Option<PathBuf>,
        #[command(subcommand)]
        command: HooksCommand,
    },
    /// Run your hooks inside Claude Code, Codex, Gemini CLI, Cursor or Copilot.
    ///
    /// The other agent runs `becket bridge SYSTEM EVENT` as its hook and passes the event on standard input. becket
    /// refuses what it cannot judge.
    #[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
    Bridge {
        #[command(subcommand)]
        command: Option<BridgeCommand>,
        #[command(flatten)]
        asked: AskedBy,
    },
    #[cfg(feature = "chibi")]
    /// List chibi's plugins, or call one.
    ///
    /// A call goes through all hooks and permissions, like a call by the model. The plugin gets the arguments as
    /// `args`.
    Plugin {
        /// The plugin, or one of its tools.
        name: Option<String>,
        /// The plugin's arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Show what happened in a session: turns, requests, tool calls, hook runs.
    Trace(TraceArgs),
    /// Run a recorded session through today's hooks and show what differs.
    ///
    /// Fires the recorded events again. The hooks really run, but no model is asked and no tool runs. Exit code 0 when
    /// nothing differs, 6 when something does.
    Replay(ReplayArgs),
    /// Show or verify the audit log of every decision.
    ///
    /// The records form a hash chain, so that tampering is detected. Without a subcommand it shows the ledger of each
    /// session: what was permitted, and what was done.
    Audit {
        #[command(subcommand)]
        command: Option<AuditCommand>,
    },
    /// List or remove the permission rules that you stored.
    ///
    /// The rules are stored in becket's data folder, one file for each project, never in the project. Without a
    /// subcommand it lists them.
    Permissions {
        #[command(subcommand)]
        command: Option<PermissionsCommand>,
    },
    /// Call one tool, through all hooks and permissions.
    Tool {
        /// The tool's name.
        name: String,
        /// The arguments of the tool as a JSON object; `-` reads them from standard input.
        #[arg(value_name = "JSON", default_value = "{}")]
        arguments: String,
    },
    #[cfg(feature = "mcp")]
    /// List MCP servers and what they offer.
    ///
    /// Their tools are named `SERVER_TOOL`. The model calls them like its other tools, and so does `becket tool`.
    Mcp {
        #[command(subcommand)]
        command: McpCommand,
    },
    /// Read and change the virtual file system.
    ///
    /// Addresses look like `vfs:///shared/notes.md` or `/shared/notes.md`. Here you act for yourself: every zone is
    /// open, and no hook runs.
    Vfs {
        #[command(subcommand)]
        command: VfsCommand,
    },
    /// List or remove tool outputs that were too large for the model.
    Cache {
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// Send a message to another context, which sees it with its next prompt.
    Send {
        /// The context that gets the message, or a recipient that a hook knows by this name.
        #[arg(add = candidates::contexts())]
        to: String,
        /// The text of the message. One argument: quote it. `-` reads it from standard input.
        text: String,
        /// The sender's name; default: the context of `-c` or `-C`, or else the current one.
        #[arg(long, value_name = "NAME")]
        from: Option<String>,
    },
    /// Let contexts work on their waiting messages.
    Inbox {
        /// The context; default: all.
        #[arg(add = candidates::contexts())]
        name: Option<String>,
        /// Only show the waiting messages.
        #[arg(long, conflicts_with = "wake")]
        show: bool,
        /// Let the contexts work on them; this is the default.
        #[arg(long)]
        wake: bool,
    },
    /// Manage flocks: contexts that share goals, tasks and files.
    Flock {
        #[command(subcommand)]
        command: FlockCommand,
    },
    #[cfg(feature = "index")]
    /// Find definitions and references in the project's code.
    Index {
        #[command(subcommand)]
        command: IndexCommand,
    },
    /// Undo the last turn that changed files here.
    ///
    /// Needs the setting `snapshots.enabled`. Files that the turn changed get their earlier content back; all others
    /// stay. If one of them has changed since, nothing is undone. A restore can be undone as well.
    Undo {
        /// Undo only the last tool call.
        #[arg(long)]
        call: bool,
        /// Overwrite files that have changed since. Their current content is kept in a checkpoint.
        #[arg(long)]
        force: bool,
    },
    /// Redo the last undone change.
    Redo {
        /// Overwrite files that have changed since. Their current content is kept in a checkpoint.
        #[arg(long)]
        force: bool,
    },
    /// List checkpoints of the working directory, and go back to one.
    Snapshots {
        #[command(subcommand)]
        command: Option<SnapshotsCommand>,
    },
    /// Show what commands may touch in a sandbox, and run one there.
    Sandbox {
        #[command(subcommand)]
        command: SandboxCommand,
    },
    /// Check web addresses against the URL policy.
    Url {
        #[command(subcommand)]
        command: UrlCommand,
    },
    /// Show the settings in effect, and change them.
    Config {
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },
    /// Check settings, key, store, machine, hooks, plugins, servers and extensions.
    ///
    /// Lists everything that was checked: `ok`, `note` (nothing is wrong, but you should know) or `wrong`. Plugins,
    /// servers and extensions are started to see whether they work. Exits with 1 if something is wrong.
    Doctor {
        /// Send one tiny request to the model, to see whether the key and the base URL work.
        #[arg(long, conflicts_with = "files")]
        online: bool,
        /// Check whether becket can run this file of another agent, or those in a folder: whole, with remarks, or not
        /// at all. Nothing is run, and nothing is fetched.
        #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
        files: Option<PathBuf>,
    },
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page of becket or of a command: `becket man hooks test`.
    Man {
        /// The command; default: becket itself.
        command: Vec<String>,
    },
    #[cfg(feature = "jq")]
    /// becket's own jq, for hooks on machines that have none.
    ///
    /// It is listed here so that its name is known; what follows it is read before becket's own options are.
    #[command(hide = true)]
    Jq,
}

/// What can be done with the user's settings.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print a setting and where its value comes from.
    Get {
        /// The setting, such as `agent.idle_timeout`.
        #[arg(add = candidates::settings())]
        key: String,
    },
    /// Write a setting into `config.toml`. The rest of the file stays as it is.
    Set {
        /// The setting, such as `agent.idle_timeout`.
        #[arg(add = candidates::settings())]
        key: String,
        /// The value as TOML; anything that is not TOML is taken as a string.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove a setting from `config.toml`, so that the default applies.
    Unset {
        /// The setting.
        #[arg(add = candidates::settings())]
        key: String,
    },
    /// Open `config.toml` in $VISUAL or $EDITOR, and check it afterwards.
    Edit,
    /// Print the JSON Schema of `config.toml`, for editors.
    Schema {
        /// Print the schema of a project's `becket.toml` instead.
        #[arg(long)]
        project: bool,
    },
}

/// What can be done about bridges to other agents.
#[derive(Debug, Subcommand)]
pub enum BridgeCommand {
    /// Add becket to an agent's hooks, for every event. Shows the change first, and keeps a backup of the file beside
    /// it.
    Install {
        #[command(flatten)]
        target: BridgeTarget,
        /// Refuse nothing; record what would have been refused, for `becket bridge report`.
        #[arg(long)]
        shadow: bool,
    },
    /// Remove becket from an agent's hooks.
    Uninstall {
        #[command(flatten)]
        target: BridgeTarget,
    },
    /// Show which agents ask becket, what keeps them from asking, and which guards they cannot reach.
    Status,
    /// Show what would have been refused where becket is installed with `--shadow`.
    Report {
        /// How far to look back, such as `12h` or `7d`.
        #[arg(long, value_name = "TIME", default_value = "7d")]
        since: String,
    },
    /// Show or stop the daemons that keep hooks loaded between events of other agents, one for each project.
    ///
    /// They start and stop on their own. Without one, every event loads the hooks again; the answers are the same.
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
    /// Stop all daemons. The next event starts a new one.
    Stop,
    /// Run as the daemon of a project, until it has been idle. `becket-hook` starts it.
    Run {
        /// The project.
        #[arg(long, value_name = "FOLDER")]
        project: PathBuf,
        /// How long to wait for an event.
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
    /// The event, by the agent's own name for it.
    pub event: Option<String>,
    /// Refuse nothing; record what would have been refused, for `becket bridge report`.
    #[arg(long)]
    pub shadow: bool,
    /// How many milliseconds the agent has already waited.
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
    /// List the rules of all projects, with their files; `*` marks this project.
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
    /// List the contexts; `*` marks the current one of this project.
    List,
    /// Show everything about a context.
    Show {
        /// The context.
        #[arg(add = candidates::contexts())]
        name: Option<String>,
    },
    /// Create a context without switching to it.
    Create {
        /// The name of the new context.
        name: String,
        /// Do nothing if the context exists.
        #[arg(long)]
        if_new: bool,
    },
    /// Rename a context: `rename NEW` for the current one, `rename OLD NEW` for any.
    Rename {
        /// The new name, or the old one and the new one.
        #[arg(value_name = "[OLD] NEW", required = true, num_args = 1..=2)]
        names: Vec<String>,
    },
    /// Archive the conversation. The next prompt starts a new one; `export --archived` prints the old.
    Clear {
        /// The context.
        #[arg(add = candidates::contexts())]
        name: Option<String>,
    },
    /// Delete a context for good: its conversation, archive, settings and files. Asks first.
    #[command(aliases = ["delete", "remove", "rm"])]
    Destroy {
        /// The context.
        #[arg(add = candidates::contexts())]
        name: Option<String>,
        /// Do nothing if there is no such context.
        #[arg(long)]
        if_any: bool,
        /// Print nothing.
        #[arg(long)]
        quiet: bool,
    },
    /// Show, set or remove the context's own system prompt.
    Prompt {
        /// The context.
        #[arg(add = candidates::contexts())]
        name: Option<String>,
        /// Set the system prompt to this text.
        #[arg(long, value_name = "TEXT", conflicts_with_all = ["file", "remove"])]
        set: Option<String>,
        /// Set the system prompt to the content of a file; `-` is standard input.
        #[arg(long, value_name = "FILE", conflicts_with = "remove")]
        file: Option<PathBuf>,
        /// Remove the system prompt, so that the default applies again.
        #[arg(long)]
        remove: bool,
    },
    /// Change a setting of the context: model, temperature, max_tokens, fuel, fallback, destroy_at,
    /// destroy_after_inactive.
    Set {
        /// The setting.
        key: String,
        /// The value. destroy_at takes a time such as `2027-01-31 18:00`, destroy_after_inactive a span such as `7d`.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// The context.
        #[arg(add = candidates::contexts())]
        name: Option<String>,
    },
    /// Remove a setting of the context, so that the default applies again.
    Unset {
        /// The setting.
        key: String,
        /// The context.
        #[arg(add = candidates::contexts())]
        name: Option<String>,
    },
    /// Show the last entries of the conversation.
    Log {
        /// Show the first entries instead.
        #[arg(long)]
        first: bool,
        /// The context.
        #[arg(add = candidates::contexts())]
        name: Option<String>,
        /// How many entries to show.
        #[arg(short = 'n', long, value_name = "N", default_value = "20",
              value_parser = clap::value_parser!(u32).range(1..))]
        count: u32,
    },
    /// Print the conversation as JSON lines, one for each entry.
    Export {
        /// The context.
        #[arg(add = candidates::contexts())]
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
        #[arg(value_name = "CONTEXT", add = candidates::contexts())]
        name: Option<String>,
    },
    /// Show one entry in full.
    Show {
        /// The entry.
        id: String,
    },
    /// Continue from another entry. If it is a prompt of yours, continue from before it, and print the prompt.
    Goto {
        /// The entry.
        entry: String,
        /// Let the model summarise the branch that you leave; WORDS say what to pay attention to.
        #[arg(long, value_name = "WORDS", num_args = 0..=1, default_missing_value = "")]
        summary: Option<String>,
        /// A label for the entry.
        #[arg(long)]
        label: Option<String>,
    },
    /// Copy the conversation up to an entry into a new context, and print its name.
    Fork {
        /// The entry; default: the last.
        entry: Option<String>,
        /// Include the entry; the default, unless it is a prompt of yours.
        #[arg(long, conflicts_with = "before")]
        at: bool,
        /// Leave out the entry; the default for a prompt of yours.
        #[arg(long)]
        before: bool,
        /// The name of the new context.
        #[arg(long, value_name = "NAME")]
        to: Option<String>,
        /// Print nothing.
        #[arg(long)]
        quiet: bool,
    },
    /// Label an entry; without TEXT, remove its label.
    Label {
        /// The entry.
        entry: String,
        /// The label.
        text: Option<String>,
    },
    /// Name the conversation; an empty name removes it.
    Name {
        /// The name.
        name: String,
    },
    /// Write the conversation as a session file of another program.
    Export {
        /// The context.
        #[arg(value_name = "CONTEXT", add = candidates::contexts())]
        name: Option<String>,
        /// The program whose format is written.
        #[arg(long, value_name = "SYSTEM", default_value = "pi", value_parser = session_formats())]
        format: String,
        /// The file, or a folder, in which becket names the file; default: standard output.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Write nothing if there is no conversation.
        #[arg(long)]
        if_any: bool,
        /// Print nothing.
        #[arg(long)]
        quiet: bool,
    },
    /// Create a context from a pi session file, and print its name.
    Import {
        /// The file, or the beginning of the id of a session in pi's folder.
        file: PathBuf,
        /// The name of the new context.
        #[arg(long, value_name = "NAME")]
        to: Option<String>,
        /// Print nothing.
        #[arg(long)]
        quiet: bool,
    },
    /// Write a pi session file as an HTML page, and print its path.
    Page {
        /// The file.
        file: PathBuf,
        /// The page; default: `pi-session-NAME.html` in the working directory.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
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
            | Self::Destroy { name, .. }
            | Self::Prompt { name, .. }
            | Self::Set { name, .. }
            | Self::Unset { name, .. }
            | Self::Log { name, .. }
            | Self::Export { name, .. } => name.as_deref(),
            Self::List => None,
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
    /// List the checkpoints, oldest first, and the space that they take.
    List,
    /// Show what has changed since a checkpoint, or between two.
    Diff {
        /// The checkpoint.
        from: u64,
        /// The other checkpoint; default: the folder as it is now.
        to: Option<u64>,
    },
    /// Restore the whole folder to a checkpoint. `becket undo` undoes that.
    Restore {
        /// The checkpoint.
        id: u64,
    },
    /// Remove checkpoints older than `snapshots.max_age_days`. Every run also does this when it ends.
    Clean,
}

/// What can be done with the virtual file system.
#[derive(Debug, Subcommand)]
pub enum VfsCommand {
    /// List a folder.
    Ls {
        /// The folder; default: the list of zones.
        #[arg(default_value = "/")]
        address: String,
        /// Include names that begin with a dot.
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
        /// The file to read; default, and `-`: standard input.
        file: Option<String>,
    },
    /// Copy a file to one outside, or to standard output.
    Get {
        /// The file to read.
        address: String,
        /// The file to write; default, and `-`: standard output.
        file: Option<String>,
    },
    /// Remove files, and folders.
    Rm {
        /// The files.
        #[arg(required = true)]
        addresses: Vec<String>,
        /// Remove folders and everything in them.
        #[arg(short = 'r', long)]
        recursive: bool,
    },
    /// Create a folder and its parents.
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
    /// Trust Scheme files that a model wrote: their hooks run from now on, and their tools run without a question.
    Trust {
        /// The files.
        #[arg(required = true)]
        addresses: Vec<String>,
    },
    /// Show the type, size and modification time of a file or folder.
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
    /// Remove outputs older than `cache.max_age_days`. Every run also does this when it ends.
    Clean {
        /// The context.
        name: Option<String>,
    },
    /// Remove all outputs, of one context or of all.
    Clear {
        /// The context.
        name: Option<String>,
        /// Only those of the current context.
        #[arg(long, conflicts_with = "name")]
        here: bool,
    },
}

/// What can be done with MCP servers.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List the servers, where they are configured and what is known about them. Starts none.
    List,
    /// List the tools of all servers, or of one. Starts a server only if its tools are not known yet.
    Tools {
        /// The server.
        server: Option<String>,
    },
    /// Start all servers, or one, and list again what they offer.
    Check {
        /// The server.
        server: Option<String>,
    },
}

/// What can be done with flocks.
#[derive(Debug, Subcommand)]
pub enum FlockCommand {
    /// Create a flock.
    Create {
        /// The name of the flock: lowercase letters, digits and hyphens.
        flock: String,
    },
    /// Remove a flock from the list. Its files stay.
    Delete {
        /// The flock.
        flock: String,
    },
    /// Add a context to a flock, and create the flock if needed.
    Join {
        /// The flock.
        flock: String,
        /// The context; default: the one that `-c` or `-C` names, or else the current one.
        #[arg(value_name = "CONTEXT", add = candidates::contexts())]
        name: Option<String>,
    },
    /// Remove a context from a flock.
    Leave {
        /// The flock.
        flock: String,
        /// The context; default: the one that `-c` or `-C` names, or else the current one.
        #[arg(value_name = "CONTEXT", add = candidates::contexts())]
        name: Option<String>,
    },
    /// List the flocks with their members.
    List,
}

/// What can be done with the code index.
#[derive(Debug, Subcommand)]
pub enum IndexCommand {
    /// Read the files that have changed since the last update, through all hooks and rules.
    Update {
        /// Read all files again.
        #[arg(long)]
        force: bool,
    },
    /// Find symbols by a part of their name, or the places that use a name.
    Query {
        /// A part of the name; upper and lower case are the same.
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
        /// The most results to show.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Show the size of the index.
    Status,
    /// Show the definitions that the rest of the project uses most.
    Map {
        /// The approximate size of the map in tokens.
        #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
        tokens: u32,
        /// Rank definitions by their use in files with this in their path.
        #[arg(long, value_name = "PART")]
        focus: Option<String>,
    },
}

/// What can be done with the sandbox.
#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Show what a command could read and write, and what enforces it.
    ///
    /// The profile is that of `--sandbox` or of the settings; default: workspace.
    Explain {
        /// Also show how far this command would get with the files and web addresses that it names. It does not run.
        #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Run a command in the sandbox, and exit with its exit code.
    ///
    /// Neither hooks nor permission rules apply, except those about `fetch` if there is a network.
    Run {
        /// The command and its arguments.
        #[arg(
            value_name = "COMMAND",
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        command: Vec<String>,
    },
}

/// What can be done with addresses of the web.
#[derive(Debug, Subcommand)]
pub enum UrlCommand {
    /// Show what kind of network each address leads to, and what the policy decides.
    ///
    /// Host names are looked up; nothing is fetched. Ignores guards and permission rules. Exits with 1 if an address is
    /// denied.
    Check {
        /// The addresses.
        #[arg(value_name = "URL", required = true)]
        urls: Vec<String>,
    },
}

/// What can be done with hooks.
#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// List the active hooks, in the order in which they run.
    ///
    /// Shows how often each has run recently, when it last ran, and how long it took (median and 95th percentile). This
    /// loads extensions and runs nothing else.
    List {
        /// Only the hooks of this event, by becket's name or a dialect's.
        #[arg(value_name = "EVENT", add = candidates::events())]
        event: Option<String>,
    },
    /// Write a hook and a test for it into the working directory, and run both.
    New(NewArgs),
    /// List the dialects, and what each calls the events.
    Dialects {
        /// Only this dialect.
        #[arg(add = candidates::dialects())]
        name: Option<String>,
    },
    /// Fire one event through the active hooks; nothing else happens.
    ///
    /// Shows what each hook reads, in its own dialect, what it answers, what the answer means, how long it took, and
    /// the outcome of all hooks together. Exits with 1 if a hook failed; a refusal is not a failure.
    Fire(FireArgs),
    /// Run hook tests: files that describe an event or a session, and the expected outcome.
    ///
    /// Exits with 1 if a test fails.
    Test(TestArgs),
    /// Show what hooks in shadow mode would have refused or changed: hooks with `shadow = true`, and all hooks of
    /// agents that are bridged with `--shadow`.
    Report {
        /// How far to look back, such as `12h` or `7d`.
        #[arg(long, value_name = "TIME", default_value = "7d")]
        since: String,
    },
    /// Measure how long each hook takes, and its share of a turn. The hooks really run, with the documented example
    /// events.
    Bench(BenchArgs),
    /// Explain what would happen to a tool call: which hooks, rules and questions, in which order, and who decides.
    ///
    /// The hooks really run, unless `--dry` is given. The tool does not run, and you are not asked anything.
    Explain {
        /// The tool's name.
        tool: String,
        /// The arguments of the tool as a JSON object; `-` reads them from standard input.
        #[arg(value_name = "JSON", default_value = "{}")]
        arguments: String,
        /// Run no hooks: only list those that would run.
        #[arg(long)]
        dry: bool,
    },
    /// Trust the hooks, rules and extensions of the working directory, exactly as they are now.
    ///
    /// Without arguments it shows what is not trusted and, on a terminal, asks. If one byte of an entry, of a script or
    /// of a file that it loads changes, becket asks again. Exits with 4 if a guard remains untrusted.
    Trust(TrustArgs),
    /// List the events, or describe one with its schema.
    Events {
        /// The event.
        #[arg(add = candidates::events())]
        name: Option<String>,
        /// Only events that this dialect has, with its names for them.
        #[arg(long, value_name = "DIALECT", conflicts_with = "name", add = candidates::dialects())]
        dialect: Option<String>,
    },
    /// Run the test vectors of a standard for hooks, and print the report for a conformance claim.
    ///
    /// Each vector runs in a real session of becket, with scripts in place of the model, the tools and the hooks. Your
    /// own hooks and settings are not used. Exits with 1 if a vector fails.
    Conformance {
        /// The standard: `agent-hooks`.
        standard: String,
        /// A folder with the standard's vectors. Default: a few of becket's own.
        #[arg(value_name = "VECTORS")]
        vectors: Option<PathBuf>,
    },
    /// Find mistakes in hooks, with file and line, without running them.
    ///
    /// Finds everything that would stop a run; programs, scripts and modules that are missing or cannot start; scripts
    /// with syntax errors or Windows line ends; unquoted paths; answers that their event does not accept; fields that
    /// two hooks rewrite; unknown events and tools; patterns that were probably meant as "contains"; very long
    /// timeouts; guards that fail open. Exits with 1 if something is wrong, and with 2 if a file cannot be read or a
    /// folder has no hooks.
    Check {
        /// The output format; `sarif` is for code hosts and editors.
        #[arg(long, value_name = "FORM", default_value = "text")]
        format: CheckForm,
        /// Files with hooks of any kind, or folders, which are searched for such files. Default: everything that a run
        /// here would find, trusted or not.
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
}

/// The arguments of `becket models`.
#[derive(Debug, Clone, clap::Args)]
pub struct ModelsArgs {
    /// Only models whose name, or whose provider's name, contains this.
    pub search: Option<String>,
    /// Only the models of this provider.
    #[arg(long = "provider", id = "listed_provider", value_name = "NAME")]
    pub provider: Option<String>,
    /// Ask providers for their models, and keep the lists.
    #[arg(long)]
    pub refresh: bool,
}

/// The output format of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckForm {
    /// Line by line; as JSON with `--json`.
    Text,
    /// SARIF 2.1.0.
    Sarif,
}

/// The arguments of `becket hooks new`.
#[derive(Debug, Clone, clap::Args)]
pub struct NewArgs {
    /// What the hook does.
    pub kind: HookKind,
    /// The name of the hook and of its files; default: a name that says what the example does.
    pub name: Option<String>,
    /// The language to write it in.
    #[arg(long, default_value = "toml")]
    pub lang: HookLanguage,
}

/// What a new hook does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HookKind {
    /// Refuses some tool calls.
    Guard,
    /// Changes the arguments of some calls.
    Transform,
    /// Records which tools have run.
    Observe,
}

/// What a new hook is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HookLanguage {
    /// A command in becket's own format.
    Toml,
    /// A bash script.
    Bash,
    /// A Python script.
    Python,
    /// A TypeScript extension for pi.
    Ts,
    /// A file in Scheme, in a chibi home.
    Scheme,
    /// A hook of Claude Code, in `.claude`.
    Claude,
}

/// The arguments of `becket hooks trust`.
#[derive(Debug, Clone, clap::Args)]
pub struct TrustArgs {
    /// Trust only what these files or folders contain. `hooks.lock` trusts whatever matches its hashes.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Trust everything in the project.
    #[arg(long, conflicts_with = "paths")]
    pub all: bool,
    /// Show everything, trusted or not, and what has changed since it was trusted. Changes nothing.
    #[arg(long, conflicts_with_all = ["all", "revoke", "lock"])]
    pub show: bool,
    /// Stop trusting these files, in any version; without PATH, everything in this project.
    #[arg(long, conflicts_with = "lock")]
    pub revoke: bool,
    /// Write `hooks.lock`, the list of what is trusted, to be committed and reviewed.
    #[arg(long, conflicts_with = "paths")]
    pub lock: bool,
}

/// The arguments of `becket hooks fire`.
#[derive(Debug, Clone, clap::Args)]
pub struct FireArgs {
    /// The event, by becket's name or a dialect's.
    #[arg(add = candidates::events())]
    pub event: String,
    /// Set a field of the event, such as `tool_name=shell` or `arguments.command=ls`; may be repeated. Other fields
    /// have the documented example values.
    #[arg(long, value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// Read fields of the event from this file, as a JSON object; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub payload: Option<PathBuf>,
    /// Take EVENT as a name of this dialect, and run only its hooks.
    #[arg(long, value_name = "DIALECT", add = candidates::dialects())]
    pub dialect: Option<String>,
}

/// The arguments of `becket hooks bench`.
#[derive(Debug, Clone, clap::Args)]
pub struct BenchArgs {
    /// Only the hooks of this event, by becket's name or a dialect's.
    #[arg(add = candidates::events())]
    pub event: Option<String>,
    /// Set a field of the event, as in `becket hooks fire`; needs EVENT.
    #[arg(long, value_name = "FIELD=VALUE", requires = "event")]
    pub set: Vec<String>,
    /// How often each hook is run.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// Exit with 1 if the 95th percentile of a hook is above this, in milliseconds.
    #[arg(long, value_name = "MS")]
    pub budget: Option<f64>,
}

/// The arguments of `becket hooks test`.
#[derive(Debug, Clone, clap::Args)]
pub struct TestArgs {
    /// Test files, or folders with files that end in `.hooktest.toml`. Default: those in and below the working
    /// directory, which run only after you agree at a terminal, or with `--trust`.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Break every guard that the tests reach in every known way, and show what happens here and what would have
    /// happened in the agent that the guard was written for.
    #[arg(long)]
    pub faults: bool,
    /// Update the snapshots that tests compare with.
    #[arg(long)]
    pub update: bool,
}

/// The arguments of `becket trace`.
#[derive(Debug, Clone, clap::Args)]
pub struct TraceArgs {
    /// The session id, or its beginning; default: the newest session of this project.
    #[arg(add = candidates::sessions())]
    pub session: Option<String>,
    /// Show the newest session of any project.
    #[arg(long, conflicts_with = "session")]
    pub all: bool,
    /// Follow the session until it ends.
    #[arg(short = 'f', long, conflicts_with_all = ["turns", "before"])]
    pub follow: bool,
    /// Show the last COUNT turns; 0 shows all [default: 100; all with --json and --export].
    #[arg(long, value_name = "COUNT")]
    pub turns: Option<u64>,
    /// Show the turns before this one.
    #[arg(long, value_name = "TURN")]
    pub before: Option<u64>,
    /// Export in another format: `jsonl`, one line for each record; `chrome`, for Perfetto and the browser's trace
    /// viewer; `otlp`, the spans that `--otel` sends; `markdown`, what was said.
    #[arg(long, value_name = "FORM", conflicts_with = "follow", value_parser = one_of(Form::ALL))]
    pub export: Option<Form>,
}

/// The arguments of `becket replay`.
#[derive(Debug, Clone, clap::Args)]
pub struct ReplayArgs {
    /// The session id, or its beginning; sub-agents are included. Default: the newest session of this project.
    #[arg(add = candidates::sessions())]
    pub session: Option<String>,
    /// Replay all sessions, and summarise by hook what would have been stopped.
    #[arg(long, conflicts_with = "session")]
    pub all: bool,
    /// Only sessions that began since then: a span such as `7d`, or a date such as `2027-01-31`.
    #[arg(long, value_name = "WHEN", requires = "all")]
    pub since: Option<String>,
}

/// What can be done with the audit log.
#[derive(Debug, Clone, Subcommand)]
pub enum AuditCommand {
    /// Verify the whole log: exit code 0 if no record was changed, removed or moved, else 1 and the first bad record.
    Verify {
        /// Also check that this hash, printed earlier by `becket audit head`, is in the log.
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
    },
    /// Print the log, one JSON object per line.
    Export {
        /// Only this session and its sub-agents, by its id or the beginning of it.
        #[arg(long, value_name = "SESSION", add = candidates::sessions())]
        session: Option<String>,
        /// Only records since then: a span such as `7d`, or a date such as `2027-01-31`.
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
        /// Only the records that this dialect prescribes, in its own format.
        #[arg(long, value_name = "DIALECT", add = candidates::dialects())]
        dialect: Option<String>,
    },
    /// List the calls that were refused, the newest last: when, where, which call, why, and by which hook.
    Refused {
        /// How far to look back: a span such as `7d`, or a date such as `2027-01-31`.
        #[arg(long, value_name = "WHEN", default_value = "7d")]
        since: String,
        /// Only this session and its sub-agents, by its id or the beginning of it.
        #[arg(long, value_name = "SESSION", add = candidates::sessions())]
        session: Option<String>,
        /// The output format; `markdown` is for the summary of a pipeline, `sarif` for code hosts.
        #[arg(long, value_name = "FORM", value_enum, default_value_t = RefusedForm::Text)]
        format: RefusedForm,
    },
    /// Print the hash of the last record. Keep it elsewhere, to verify the log against it later.
    Head,
}

/// The output format of refused calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RefusedForm {
    /// Two lines for each call; as JSON with `--json`.
    Text,
    /// A table in Markdown.
    Markdown,
    /// SARIF 2.1.0.
    Sarif,
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
            .aliases(cli.aliases)
            .about(cli.about)
            .disable_help_flag(true)
            .arg(arguments)
    })
}

/// An error if the command is another program's: its options are its own, so becket's may not stand before it.
fn not_foreign(matches: &ArgMatches) -> Result<(), clap::Error> {
    let named = matches.subcommand_name().or_else(|| first_of_several(matches));
    let is_foreign = |name: &&str| {
        Hosts::default()
            .foreign_clis()
            .any(|cli| cli.is_named(OsStr::new(name)))
    };
    let Some(name) = named.filter(is_foreign) else {
        return Ok(());
    };
    let message = format!(
        "`{name}` comes first, as in `becket {name} …`; becket's own options are not read there (BECKET_HOME is)\n"
    );
    Err(clap::Error::raw(
        clap::error::ErrorKind::InvalidSubcommand,
        message,
    ))
}

/// The first word of a prompt, if there are several, which is no prompt.
fn first_of_several(matches: &ArgMatches) -> Option<&str> {
    let mut words = matches.try_get_many::<String>("prompt").ok()??;
    let first = words.next()?;
    words.next().map(|_| first.as_str())
}

/// The command line with those commands only that the words name: describing all of them with all their options takes
/// longer than everything else at the start of the program. `None` where a word asks for help.
fn narrow_command_line(words: &[OsString]) -> Option<clap::Command> {
    let words = || words.iter().skip(1).filter_map(|word| word.to_str());
    if words().any(|word| ["help", "--help", "-h"].contains(&word)) {
        return None;
    }
    let mut named: Vec<&str> = words().filter(|word| Command::has_subcommand(word)).collect();
    if named.is_empty() {
        return Some(Words::Prompts.command_line());
    }
    named.sort_unstable();
    named.dedup();
    let all = commands();
    let found = named.into_iter().filter_map(|name| all.find_subcommand(name));
    let command = PromptArgs::augment_args(clap::Command::new("becket"));
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

/// The only subcommand of a name, with its command: `hooks fire` for `fire`.
pub fn subcommand_named(name: &str) -> Option<String> {
    let commands = commands();
    let mut holders = commands
        .get_subcommands()
        .filter(|command| command.find_subcommand(name).is_some());
    match (holders.next(), holders.next()) {
        (Some(holder), None) => Some(format!("{} {name}", holder.get_name())),
        _ => None,
    }
}

/// The words that a command line may have besides options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// A command with its arguments, or prompts.
    CommandsOrPrompts,
    /// Prompts: no word is a command.
    Prompts,
}

impl Words {
    /// The command line as clap knows it.
    pub fn command_line(self) -> clap::Command {
        match self {
            Self::CommandsOrPrompts => command_line(),
            Self::Prompts => guest_options::add_to(PromptArgs::augment_args(clap::Command::new("becket"))),
        }
    }

    /// Parses a command line by a description that may have more options than becket's own.
    pub fn parse(self, command: clap::Command, words: &[OsString]) -> Result<ArgMatches, clap::Error> {
        match self {
            Self::CommandsOrPrompts => {
                let matches = help::parse(command, words)?;
                not_foreign(&matches).map(|()| matches)
            }
            Self::Prompts => command.try_get_matches_from(words),
        }
    }
}

impl Args {
    /// Parses a command line, whose first word is the program.
    pub fn parse_words(words: &[OsString], kind: Words) -> Result<Self, clap::Error> {
        if kind == Words::Prompts {
            return Self::of(&kind.parse(kind.command_line(), words)?);
        }
        let narrow = narrow_command_line(words);
        let parsed = narrow.and_then(|narrow| narrow.try_get_matches_from(words).ok());
        match parsed {
            Some(matches) => not_foreign(&matches).and_then(|()| Self::of(&matches)),
            // Help and errors know all commands.
            None => Self::of(&kind.parse(kind.command_line(), words)?),
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
    option_names(&Words::Prompts.command_line())
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
