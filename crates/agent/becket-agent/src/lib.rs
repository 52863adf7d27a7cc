//! becket's agent: a loop between a person, a model and tools, in which the events of the vocabulary fire.
//!
//! Reading order: `run.rs` is the loop, and `goes_on.rs` says whether it goes on; `request.rs` is what the model is
//! shown, `model_call.rs` is one request; `batch.rs` is the tools of one answer; `gate.rs` decides which of them may
//! run, `rules.rs` and `stored_rule.rs` are what the user has allowed and forbidden, `audit.rs` is what is written down
//! of that, and `url_policy.rs` what they may connect to; `output.rs` is what the model sees of their results;
//! `compact.rs` puts a summary in the place of what is old; `direct_call.rs` is a tool that the person calls;
//! `session.rs` is what lasts between prompts, and `switching.rs` what concerns its whole context; `departure.rs` is
//! where it can be wished to go; `tree.rs` is a conversation with all its branches, and `going.rs` the way to another
//! place in it; `vfs.rs` is the virtual file system, and `cache.rs` keeps large outputs in it; `mail.rs` is messages
//! between contexts, `flocks.rs` groups of them with their goals, and `tasks.rs` what is to be done; `subagent.rs`
//! lets an agent ask another one, and `family.rs` is what both share; `team.rs` is agents that the person has put
//! together, and `shelf.rs` what lies ready besides tools. `desk.rs` is how code outside of the loop sees and steers
//! a session, and `obey.rs` how the session does what it is told there; `guests.rs` is who brings tools while it
//! runs. `provider.rs`, `tool.rs`, `store.rs` and `front.rs` are the traits of what the agent works with.
//!
//! This crate knows no provider, no tool, no database and no terminal, and no foreign hook format.

pub mod audit;
mod batch;
pub mod cache;
mod compact;
pub mod context_files;
mod departure;
pub mod desk;
mod direct_call;
mod family;
pub mod flocks;
pub mod front;
mod fuel;
pub mod gate;
mod goes_on;
mod going;
pub mod guests;
mod handoff;
mod hooks;
mod ignore_files;
pub mod judged_path;
pub mod mail;
mod manners;
mod message;
mod missing_results;
mod model_call;
mod obey;
mod output;
mod plain;
mod prompt;
pub mod provider;
mod queue;
mod repetition;
mod request;
mod resolve;
mod rules;
mod run;
mod session;
mod session_judge;
mod settings;
pub mod shelf;
pub mod store;
pub mod stored_rule;
mod subagent;
mod switching;
mod tasks;
pub mod team;
pub mod tool;
mod transcript;
mod tree;
pub mod url_policy;
mod user_shell;
pub mod vfs;

// For providers, which know nothing of hooks and read TOML as well.
pub use becket_hooks::parse_toml;
pub use compact::CompactEnd;
pub use direct_call::DirectCall;
pub use going::{GoTo, GoToEnd};
pub use hooks::Hooks;
pub use ignore_files::IgnoreFiles;
pub use missing_results::with_missing_results;
pub use queue::Queues;
pub use rules::{ArgumentRule, RuleVerdict, RuledCall, Rules, ToolRule};
pub use run::{Ending, Input, RunEnd};
pub use session::{Agent, RecordKeeper, Session};
pub use session_judge::SessionJudge;
pub use settings::{AgentSettings, CompactionSettings, EndingTool, SubagentSettings};
pub use subagent::{Outcome, Parent, SubAgent, ToolChoice};
pub use switching::{Consent, Fork, Forked, Lasting, Position, Refused, Replacement, Switch};
pub use user_shell::Judged;
