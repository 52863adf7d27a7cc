//! becket's own tools: one implementation per operation, whatever name the model knows it by.
//!
//! Read `operation_tool.rs` first: it is the thin layer that unpacks a permit and calls one of `shell.rs`, `read.rs`,
//! `write.rs`, `edit.rs`, `list.rs`, `find.rs`, `grep.rs`, `fetch.rs` (with `page.rs`, `charset.rs` and
//! `html.rs`) and `vfs.rs`.
//! Files are opened by `becket_agent::judged_path`, so that what was judged is what is opened. `answer.rs` tells
//! results as a face words them. `confined.rs` starts what runs in a sandbox, and `web_proxy.rs` is the network that it
//! may get. `buffers.rs` reads and writes files through an editor. `own_tools.rs` has the tools
//! that are no operations: notes, and the end of a turn; `context_tools.rs` those between contexts: messages and
//! flocks; `subagent_tools.rs` those that ask sub-agents, and `team_tools.rs` those of an agent in a team.
//! `plural_tool.rs` makes several calls of one, `jobs.rs` has commands in the background and `job_tools.rs` the tools
//! for them, `script_tools.rs` has commands with a name; `todo_tools.rs` and `memory_tools.rs` keep what an agent wants
//! to do and to remember. `facts/` has short texts about the machine and the folder, and hides secrets: functions, not
//! tools. `program_tool.rs` makes a tool of a foreign program.
//!
//! This crate knows no foreign tool names, asks no one for permission, and reads neither environment nor home.

mod answer;
mod buffers;
mod charset;
mod client;
mod confined;
mod context_tools;
mod edit;
pub mod facts;
mod fetch;
mod find;
mod folder;
mod grep;
mod html;
mod job_tools;
mod jobs;
mod kept_output;
mod list;
mod memory_tools;
mod occurrences;
mod operation_tool;
mod own_tools;
mod page;
mod place;
mod plain_tool;
mod plural_tool;
mod preview;
mod program_tool;
mod read;
mod remove;
mod script_tools;
mod settings;
mod shell;
mod stand_in;
mod subagent_tools;
mod team_tools;
mod todo_tools;
mod typography;
mod vfs;
mod walk;
mod web_proxy;
mod write;

use becket_agent::judged_path;
pub use buffers::{BufferText, Buffers};
pub use client::{cause, client_for, free_client};
pub use confined::{Kept, confined};
pub use context_tools::{ContextToolSettings, SEND_MESSAGE, context_tool_names, context_tools};
pub use jobs::Jobs;
pub use memory_tools::{memory_tool_names, memory_tools};
pub use operation_tool::operation_tools;
pub use own_tools::{CALL_USER, NotesSettings, own_tool_names, own_tools};
pub use plain_tool::{PlainTool, spec as plain_spec};
pub use program_tool::{ProgramFace, ProgramTool, Telling, named_address};
pub use script_tools::{Script, script_tools};
pub use settings::ToolSettings;
pub use stand_in::StandIn;
pub use subagent_tools::{
    Models, Preset, PresetAgent, SubagentToolSettings, subagent_tool_names, subagent_tools,
};
pub use team_tools::{team_tool_names, team_tools};
pub use todo_tools::{todo_tool_names, todo_tools};

/// A web page as text. Public only for its fuzz target.
#[doc(hidden)]
pub fn page_text(html: &str, base: &url::Url) -> String {
    html::to_text(html, base, html::Style::Markdown) + &html::to_text(html, base, html::Style::Plain)
}
