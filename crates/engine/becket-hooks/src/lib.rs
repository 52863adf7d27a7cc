//! becket's engine: asks the handlers of an event, in one known order, and folds their answers.
//!
//! Read `dispatch.rs` first: it is the one loop through which every event of every dialect goes. `engine.rs` holds the
//! handlers, `handler.rs` says what a handler is, `handler_info.rs` what its place in the order is, `matcher.rs` which
//! events it wants, `outcome.rs` what comes back, `rehearsal.rs` how an event is tried out, `replay.rs` how a recorded
//! one is repeated. `lane/` runs programs, `row.rs` says what their input and output mean, `own_format.rs` the same for
//! becket's own hooks, `untyped.rs` makes the loop the same for every event, `hookfile.rs` reads becket's own hook
//! files, `glob.rs` untrusted globs.
//!
//! This crate knows no agent, no model and no foreign hook format.

mod anywhere;
pub mod clock;
mod dispatch;
mod echo_proof;
mod engine;
mod failure;
mod glob;
mod handler;
mod handler_info;
mod hookfile;
mod lane;
mod matcher;
mod mistakes;
mod occasion;
mod outcome;
mod own_format;
mod plain_words;
mod program_outside;
mod registered;
mod rehearsal;
mod replay;
mod row;
mod settings_file;
mod strict_json;
mod struct_keys;
mod toml_text;
mod trace;
mod untyped;

pub use echo_proof::echo_proof;
pub use engine::{Engine, HandlerKey, Registration, Watcher};
pub use failure::{Cause, Failure};
pub use glob::{Glob, Slashes, check_glob};
pub use handler::{Action, Condition, Handler, NativeHandler};
pub use handler_info::{Dialect, HandlerInfo, USUAL_TIMEOUT};
pub use hookfile::{CommandLine, HookEntry, HookEnvironment, OwnHook, read_hook_file, read_hooks};
pub use lane::{
    Answered, CommandLane, Companion, Field, Finished, Invocation, Lane, LaneKind, Limits, Listener, Mark,
    Preparation, Program, ScriptHandler, Terminal, TerminalInput, Tree, Unanswerable, WorkerLane,
    become_subreaper, end_programs, guest_environment, inherited_environment, reap_orphans,
};
pub use matcher::{Matcher, Pattern, WholeText};
pub use mistakes::{Layout, read_around_mistakes, read_or_mistakes};
pub use occasion::{Occasion, Setting};
pub use outcome::Outcome;
pub use own_format::{beginning, own_row, trouble_of_answer};
pub use plain_words::plain_words;
pub use program_outside::program_outside;
pub use rehearsal::{Exchange, Fault, Rehearsal};
pub use replay::{ReadEvent, Rehearsed};
pub use row::{Row, RowHandler};
pub use settings_file::{
    MAX_SECONDS, Section, SectionSettings, SettingsError, check_seconds, in_plain_words, nearest, read_toml,
    read_toml_with, schema_with,
};
pub use strict_json::read_strictly;
pub use struct_keys::keys_of;
pub use toml_text::{parse_table, parse_toml};
pub use trace::{Consequence, DispatchTrace, Effect, HandlerRun, ReportedFailure, Witness, shadow_words};
