//! becket's agent: a loop between the user, a model and tools, in which the events of the vocabulary fire.
//!
//! Reading order: `session.rs` is what lasts between prompts, in parts: the speaker (`speaker.rs`), the transcript
//! (`transcript.rs`), the inbox (`inbox.rs`) and the progress (`progress.rs`). `session_api.rs` is what its owner can
//! ask of it; everything else is functions over a session or over the part that they need.
//!
//! `run.rs` is the loop, and `continuation.rs` decides whether it goes on; `prompting.rs` prepares a prompt,
//! `request.rs` builds what the model is shown, `model_call.rs` makes one request; `batch.rs` runs the tools of one
//! answer, of which the gate (a crate of its own, `becket-gate`) decides which may run; `output.rs` prepares their
//! results for the model; `storing.rs` adds to the conversation, and `compact.rs` replaces old messages by a summary
//! (`summary_form.rs`).
//!
//! `opening.rs` begins and ends sessions, `current_agent.rs` decides who and what is at work in one, `switching.rs`
//! does what concerns its whole context, and `navigation.rs` moves to another place in the conversation (`tree.rs`,
//! `entries.rs`).
//! `mail.rs` and `letters.rs` are messages between contexts, and `tasks.rs` lists what is to be done; `calling.rs` lets
//! an agent ask another one (`subagent.rs`), or a tool make further calls, with what they share in `at_work.rs` and
//! `family.rs`; `team.rs` is agents that the user has put together, and `prompt_library.rs` provides skills and
//! prompts.
//!
//! `session_handle.rs` is the handle by which code outside of the loop sees and steers a session, `destination.rs` says
//! where it may continue, and `pending_work.rs` carries out what was asked for there; `guests.rs` is the interface for
//! sources of tools that come and go. `agent.rs`, `provider.rs`, `tool.rs`, `store.rs` and `front.rs` are what the
//! agent works with.
//!
//! This crate knows no provider, no tool, no database and no terminal, and no foreign hook format.

mod account;
mod agent;
mod at_work;
mod automation;
mod batch;
mod budget;
mod calling;
mod compact;
mod config_files;
pub mod context_files;
mod continuation;
mod current_agent;
mod destination;
mod direct_call;
mod endings;
mod entries;
mod family;
pub mod front;
mod fuel;
pub mod guests;
mod handoff;
mod ignore_files;
mod inbox;
mod input;
mod letters;
pub mod mail;
mod message;
mod missing_results;
mod model_call;
mod navigation;
mod notices;
mod opening;
mod output;
mod pending_work;
mod plain;
mod progress;
mod prompt;
pub mod prompt_library;
mod prompting;
pub mod provider;
mod queue;
mod record_keeper;
mod repetition;
mod request;
mod run;
mod session;
mod session_api;
pub mod session_handle;
mod session_judge;
mod settings;
mod skills;
mod speaker;
pub mod store;
mod storing;
mod subagent;
mod summary_form;
mod switching;
mod tasks;
pub mod team;
pub mod tool;
mod transcript;
mod tree;
mod user_shell;
mod window;

// The gate is a crate of its own, and its users find it here as well.
pub use becket_gate::{
    ArgumentRule, FILES_CHANGED, FILES_READ, Hooks, ListedRule, RuleOrigin, RuleVerdict, RuledCall, Rules,
    SharedMode, ToolRule,
};
pub use becket_gate::{audit, cache, flocks, gate, judged_path, stored_rule, url_policy, vfs};
// Re-exported for providers, which do not know the engine but read TOML as well.
pub use account::ReachedBudget;
pub use agent::Agent;
pub use becket_hooks::parse_toml;
pub use budget::Budget;
pub use config_files::ConfigFiles;
pub use destination::{GoTo, Position};
pub use direct_call::DirectCall;
pub use endings::{CompactEnd, Ending, GoToEnd, RunEnd};
pub use ignore_files::IgnoreFiles;
pub use input::Input;
pub use missing_results::with_missing_results;
pub use queue::Queues;
pub use record_keeper::RecordKeeper;
pub use session::Session;
pub use session_judge::SessionJudge;
pub use settings::{
    AgentSettings, CompactionSettings, EndingTool, IDLE_TIMEOUT, LOCAL_IDLE_TIMEOUT, Pricing,
    SubagentSettings, UNLIMITED,
};
pub use subagent::{SubAgent, SubAgentEnd, ToolChoice};
pub use switching::{Consent, Fork, Forked, Lasting, Refused, Replacement, Switch};
pub use tasks::task_table;
pub use tool::{Parent, SessionVariables};
pub use user_shell::Judged;
pub use window::{LearnedWindows, Window};
