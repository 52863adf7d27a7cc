//! The buffers of an editor: what a file holds there stands before what it holds on the disk, and what is written goes
//! through the editor, so that the user's unsaved work is neither overlooked nor overwritten.
//!
//! Judged is the file on the disk, so everything that would refuse it there refuses it here too: links that have
//! appeared meanwhile, files that are none, files that may not be written. Between that look and the editor's own there
//! is a moment in which another process may put a link there; only a file that becket opens itself is safe from that.

use std::io;
use std::path::Path;

use becket_events::{EditArguments, Manner, Part, WriteArguments};
use futures_util::future::BoxFuture;

use crate::answer::OperationAnswer;
use crate::judged_path::{LinkedFile, may_replace, read_whole, reason};
use crate::{edit, write};

/// The buffers of an editor.
pub trait Buffers: Send + Sync {
    /// The text of a file as the editor has it. For a file that it does not have, the one on the disk counts; if it
    /// fails to tell, nobody knows the text.
    fn read<'a>(&'a self, file: &'a Path) -> BoxFuture<'a, BufferText>;

    /// Whether a file is written through the editor.
    fn writes(&self, file: &Path) -> bool;

    /// Writes a file through the editor; the error says why that failed.
    fn write<'a>(&'a self, file: &'a Path, text: &'a str) -> BoxFuture<'a, Result<(), String>>;
}

/// What an editor says of a file: its text, `None` if the editor does not have it, or why it did not tell.
pub type BufferText = Result<Option<String>, String>;

/// The note about a file that the editor has not saved, or has changed as it did.
const DIFFERS: &str = "[The file on the disk does not hold exactly this: the editor has not saved it, or has formatted \
                       it.]";

/// Writes the file at `path` through the editor; `judged` says which hard links it had.
pub(crate) async fn write(
    arguments: &WriteArguments,
    (path, judged): (&Path, Option<LinkedFile>),
    buffers: &dyn Buffers,
) -> OperationAnswer {
    let cannot = |error: &io::Error| {
        let words = format!("Cannot write {}: {}.", arguments.path, reason(error));
        OperationAnswer::refused_by_system(words, error, path)
    };
    let written = match may_replace(path, judged) {
        Ok(written) => written,
        Err(error) => return cannot(&error),
    };
    match buffers.write(path, &arguments.content).await {
        Ok(()) => noting(write::told(arguments, written), path, &arguments.content),
        Err(why) => cannot(&io::Error::other(why)),
    }
}

/// Edits the file at `path` through the editor, as it is there.
pub(crate) async fn edit(
    arguments: &EditArguments,
    (path, judged): (&Path, Option<LinkedFile>),
    manner: Manner,
    buffers: &dyn Buffers,
) -> OperationAnswer {
    let made = match may_replace(path, judged) {
        Ok(_) => match buffers.read(path).await {
            Ok(Some(text)) => edit::planned(&text, arguments, manner),
            Ok(None) => edit::planned_on_disk(path, arguments, manner),
            Err(why) => Err(io::Error::other(why).into()),
        },
        Err(error) => Err(error.into()),
    };
    let (text, output) = match made {
        Ok(made) => made,
        Err(problem) => return edit::refused(arguments, path, problem),
    };
    match buffers.write(path, &text).await {
        Ok(()) => noting(output.into(), path, &text),
        Err(why) => edit::refused(arguments, path, io::Error::other(why).into()),
    }
}

/// The answer, with a note if the disk does not hold what was written.
fn noting(mut answer: OperationAnswer, path: &Path, text: &str) -> OperationAnswer {
    // Editors keep the line ends that a file has.
    let plain = |text: &str| text.replace("\r\n", "\n");
    let most = text.len() as u64 * 2 + 1024;
    let saved = read_whole(path, most)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    if saved.is_none_or(|saved| plain(&saved) != plain(text)) {
        answer.output.content.push(Part::text(DIFFERS));
    }
    answer
}
