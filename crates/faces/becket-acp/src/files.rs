//! Files as the editor has them: it may hold a newer text than the disk, and it knows what it has open.
//!
//! Only files in the session's folder go through the editor. It knows the folder by the name that it has given, which
//! may be a link; tools know it by its own name.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    FileSystemCapabilities, ReadTextFileRequest, ReadTextFileResponse, SessionId, WriteTextFileRequest,
};
use becket_store::ContextName;
use becket_tools::{BufferText, Buffers};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::wire::Editor;

/// How long the editor may take to read a file.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the editor may take to write a file, which it may format and save.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// The files of a session's folder.
pub struct Files {
    editor: Arc<Editor>,
    session: SessionId,
    /// The folder as the editor names it.
    named: PathBuf,
    /// The folder without links.
    folder: PathBuf,
    reads: bool,
    writes: bool,
}

impl Files {
    pub fn new(
        editor: Arc<Editor>,
        name: &ContextName,
        folder: &Path,
        offered: &FileSystemCapabilities,
    ) -> Self {
        Self {
            editor,
            session: SessionId::new(name.as_str()),
            named: folder.to_path_buf(),
            folder: folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()),
            reads: offered.read_text_file,
            writes: offered.write_text_file,
        }
    }

    /// A file as the editor names it, if it lies in the folder.
    fn named(&self, file: &Path) -> Option<PathBuf> {
        Some(self.named.join(file.strip_prefix(&self.folder).ok()?))
    }
}

impl Buffers for Files {
    fn read<'a>(&'a self, file: &'a Path) -> BoxFuture<'a, BufferText> {
        Box::pin(async move {
            let Some(file) = self.named(file).filter(|_| self.reads) else {
                return Ok(None);
            };
            let request = ReadTextFileRequest::new(self.session.clone(), file);
            let read = self
                .editor
                .request::<ReadTextFileResponse>("fs/read_text_file", &request);
            match tokio::time::timeout(READ_TIMEOUT, read).await {
                Ok(Ok(answer)) => Ok(Some(answer.content)),
                Ok(Err(error)) if error.is_not_found() => Ok(None),
                Ok(Err(why)) => Err(format!("the editor did not read it: {why}")),
                Err(_) => Err(format!(
                    "the editor did not answer within {} s",
                    READ_TIMEOUT.as_secs()
                )),
            }
        })
    }

    fn writes(&self, file: &Path) -> bool {
        self.writes && self.named(file).is_some()
    }

    fn write<'a>(&'a self, file: &'a Path, text: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let file = self.named(file).ok_or("the file is not in the editor's folder")?;
            let request = WriteTextFileRequest::new(self.session.clone(), file, text);
            // Some editors answer with an object, some with nothing.
            let written = self.editor.request::<Value>("fs/write_text_file", &request);
            match tokio::time::timeout(WRITE_TIMEOUT, written).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(why)) => Err(format!("the editor did not write it: {why}")),
                Err(_) => Err(format!(
                    "the editor did not answer within {} s, and may have written it",
                    WRITE_TIMEOUT.as_secs()
                )),
            }
        })
    }
}
