//! becket's vocabulary: every moment of an agent's life that a hook can answer, declared once.
//!
//! Read `table.rs` first: it is the list of events, each with its payload and its reply. `rules.rs` says how the
//! replies of several handlers combine, `event.rs` what is derived from a row, `message.rs` and `operation.rs` hold
//! the types that payloads are made of; `request_size.rs` is for estimates of what a request costs.
//!
//! This crate does no I/O, knows no async runtime, no agent and no foreign hook format.

#[macro_use]
mod macros;
mod event;
mod finding;
mod json;
mod message;
mod operation;
mod parts;
mod permission_mode;
mod profile;
mod reference;
mod request_size;
mod rules;
mod schema;
mod scope;
mod table;
mod verdict;

pub use event::{
    Class, Event, EventInfo, FieldInfo, Payload, Reply, Visitor, envelope, envelope_of, payload_schema,
    reply_schema,
};
pub use finding::{EditFault, Entry, EntryKind, Finding, Passage, PassageLine, ReadLines, ReadStop, Why};
pub use json::Json;
pub use message::{
    BRANCH_NOTE, Delta, EntryDraft, LOST_ANSWER_NOTE, Message, MessageBody, MessageRecord, NoteDraft, Part,
    SHELL_NOTE, StopReason, ToolCall, Usage, lines_of, text_of,
};
pub use operation::{
    Beside, EditArguments, Effect, FetchArguments, FindArguments, GrepArguments, LineEdit, ListArguments,
    MkdirArguments, Operation, OperationKind, PageFormat, ReadArguments, RemoveArguments, Replacement,
    RmdirArguments, ShellArguments, WriteArguments,
};
pub use parts::*;
pub use permission_mode::PermissionMode;
pub use profile::{
    AfterFailure, Answered, Apart, Face, JOB_EXTRAS, Manner, OWN_EXTRAS, Plural, Profile, Settle, SingleCall,
    Streams, Tail, TailCut, TailLimit, Telling, ToForeign, ToOutput, ToOwn, Together, Wording,
};
pub use reference::reference_page;
pub use request_size::{BYTES_PER_TOKEN, PICTURE_TOKENS, request_size};
pub use rules::{
    Adjust, Answer, Append, First, Intersect, Last, Merge, Prepend, Rewrite, Rule, Strictest, Union, Withheld,
};
pub use schema::Schema;
pub use scope::Scope;
pub use table::*;
pub use verdict::Verdict;
