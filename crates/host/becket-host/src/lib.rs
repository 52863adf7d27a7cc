//! The interface between becket and one kind of guest (plugins, extensions, MCP servers): [`Host`].
//!
//! Start with `host.rs`, the life of a guest from its files to its end. `place.rs` is where guests are looked for,
//! `options.rs` holds the options of the command line about guests, `servers.rs` the MCP servers that guests declare
//! and the calls of hooks to them, `unloaded.rs` guests that could not be understood. `interactive.rs` is everything
//! that guests bring to a session besides hooks and tools, `agent_file.rs` agents that a file describes,
//! `run_settings.rs` another system's settings about a run, `reader.rs` files for models that decide in place of hooks,
//! `client.rs` a program that has started becket and `lines.rs` the lines between them, `bridge.rs` another agent that
//! asks becket's hooks, `foreign_cli.rs` the command line of another agent's program, `session_files.rs` conversations
//! as files of another system. `ui.rs` is the user's side of guests: what guests show and ask (`shown.rs`), and what
//! they draw (`drawing.rs`); `question.rs` lists the possible answers to a question about a call. `model_lists.rs`
//! keeps what providers say of their models. `conformance.rs` is a standard whose vectors becket can run against
//! itself.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod agent_file;
mod bridge;
mod client;
mod conformance;
mod dialect_settings;
mod drawing;
mod foreign_cli;
mod host;
mod interactive;
mod known_commands;
mod lines;
mod model_lists;
mod options;
mod place;
mod question;
mod reader;
mod run_settings;
mod servers;
mod session_files;
mod shown;
mod terminal_signal;
mod ui;
mod unloaded;

pub use agent_file::{
    AGENT, AGENT_FILE, AgentCommands, AgentFile, AgentResources, CommandPrompt, NoCommands, Piece, ServerTool,
};
pub use bridge::{
    AgentProgram, Asked, Bridge, BridgeEntry, BridgePayload, BridgedCall, BridgedEvent, CallPart, EntryFile,
    Moment, MomentKind, Ruling, SPAWN_AGENT, ToolNames, VariablesFor, text_argument,
};
pub use client::{Client, Kept, ServedSession, UserShell};
pub use conformance::{Conformance, ConformanceReport, VectorOutcome, VectorResult};
pub use dialect_settings::{DialectSettings, Reach};
pub use drawing::{Drawing, Whose};
pub use foreign_cli::{
    AskedOf, BOOLEAN, ForeignArgs, ForeignCli, ForeignOption, ForeignValue, OwnLine, OwnLines, OwnOption,
    Service, foreign_option,
};
pub use host::{
    Asking, FetchLimits, ForeignHome, Found, FoundGuest, Guests, Health, Host, KnownTools, Listed,
    ListedModel, Loading, Mode, NoGuests, Program, Report, RuleReading, Stage, Toolbox,
};
pub use interactive::{
    CalledCommand, CommandEnd, Completes, GivenFlag, GuestFlag, GuestShell, Interactive, NoInteraction,
    Prompts, SessionTool, ShellEnd, ToolChoice,
};
pub use known_commands::{AskedAbout, KnownCommand, KnownCommands, SameCommand};
pub use lines::{LineWriter, ReadLine, read_line};
pub use model_lists::{ModelList, ModelLists, priced};
pub use options::{API_KEY, GuestOptions, HostOption, NO_CONTEXT_FILES, OptionValue};
pub use place::{GuestSearch, SettingsText};
pub use question::{Choice, STORE, about_rule, rule_of};
pub use reader::{Look, Reader, ReaderParts};
pub use run_settings::{ForeignModel, RunSettings, ToolFilter};
pub use servers::{
    DeclaredServer, DeclaredServers, NoServers, Reached, ServerCall, ServerCalls, ServerDeclaration,
    unknown_server,
};
pub use session_files::{AboutSession, ForeignContext, ForeignSession, SessionFiles};
pub use shown::{Delivery, Dialog, DialogAnswer, EditorNews, Level, Placement, Shown};
pub use terminal_signal::{TerminalSignal, terminal_signals};
pub use ui::{Failed, Person, Ui};
pub use unloaded::Unloaded;
