//! The answer of an operation: as becket words it, and as data for a face that words it differently.

use std::io;
use std::path::Path;

use becket_agent::tool::ToolOutput;
use becket_events::{Face, Finding, Operation, Part, Why, text_of};
use rustix::io::Errno;

/// The answer of an operation.
pub(crate) struct OperationAnswer {
    /// The answer as becket words it.
    pub(crate) output: ToolOutput,
    /// The answer as data; `None` if it is only meant for the model.
    pub(crate) finding: Option<Finding>,
}

impl OperationAnswer {
    /// A failure with its reason as data.
    pub(crate) fn failed(words: String, why: Why) -> Self {
        Self {
            output: ToolOutput::error(words.clone()),
            finding: Some(Finding::Failure { words, why }),
        }
    }

    /// A failure of the operating system at that file.
    pub(crate) fn refused_by_system(words: String, error: &io::Error, path: &Path) -> Self {
        let why = code_of(error).map_or(Why::Other, |code| Why::System {
            code,
            path: path.display().to_string(),
        });
        Self::failed(words, why)
    }

    /// The answer as the face words it, if it has its own wording.
    pub(crate) fn told_by(self, face: &Face, operation: &Operation) -> ToolOutput {
        let Some(telling) = face.output else {
            return self.output;
        };
        let is_text = |part: &Part| matches!(part, Part::Text { .. });
        let finding = match self.finding {
            Some(finding) => finding,
            None if self.output.is_error => Finding::Failure {
                words: text_of(&self.output.content),
                why: Why::Other,
            },
            None if self.output.content.iter().all(is_text) => Finding::Done(text_of(&self.output.content)),
            // A picture has no text.
            None => return self.output,
        };
        ToolOutput {
            content: vec![Part::text((telling.words)(operation, &finding))],
            ..self.output
        }
    }
}

/// The system's name for an error, for the common ones.
fn code_of(error: &io::Error) -> Option<&'static str> {
    Some(match Errno::from_io_error(error)? {
        Errno::NOENT => "ENOENT",
        Errno::ACCESS => "EACCES",
        Errno::PERM => "EPERM",
        Errno::ISDIR => "EISDIR",
        Errno::NOTDIR => "ENOTDIR",
        Errno::ROFS => "EROFS",
        Errno::NAMETOOLONG => "ENAMETOOLONG",
        Errno::NOSPC => "ENOSPC",
        _ => return None,
    })
}

impl From<ToolOutput> for OperationAnswer {
    fn from(output: ToolOutput) -> Self {
        Self {
            output,
            finding: None,
        }
    }
}
