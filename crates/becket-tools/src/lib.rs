//! becket's own tools: one implementation per operation, whatever name the model knows it by.
//!
//! Read `operation_tool.rs` first: it is the thin layer that unpacks a permit and calls one of `shell.rs`, `read.rs`,
//! `write.rs`, `edit.rs`, `list.rs`, `find.rs`, `grep.rs` and `fetch.rs`. `judged_path.rs` opens files so that what
//! was judged is what is opened, `answer.rs` tells results in the words of a face.
//!
//! This crate knows no foreign tool names, asks nobody for permission, and reads neither environment nor home.

mod answer;
mod edit;
mod fetch;
mod find;
mod grep;
mod html;
mod judged_path;
mod kept_output;
mod list;
mod operation_tool;
mod read;
mod settings;
mod shell;
mod walk;
mod write;

pub use operation_tool::operation_tools;
pub use settings::ToolSettings;
