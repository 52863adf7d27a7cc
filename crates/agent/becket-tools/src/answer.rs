//! What an operation answers: in becket's own words, and as data for a face that has others.

use std::io;
use std::path::Path;

use becket_agent::tool::ToolOutput;
use becket_events::{Face, Finding, Operation, Part, Why, text_of};
use rustix::io::Errno;

/// The answer of an operation.
pub(crate) struct Answer {
    /// In becket's own words.
    pub(crate) output: ToolOutput,
    /// As data; what is only for the model has none.
    pub(crate) finding: Option<Finding>,
}

impl Answer {
    /// A failure of which more is known than words.
    pub(crate) fn failed(words: String, why: Why) -> Self {
        Self {
            output: ToolOutput::error(words.clone()),
            finding: Some(Finding::Failure { words, why }),
        }
    }

    /// A failure of the system at that file.
    pub(crate) fn refused_by_system(words: String, error: &io::Error, path: &Path) -> Self {
        let why = code_of(error).map_or(Why::Other, |code| Why::System {
            code,
            path: path.display().to_string(),
        });
        Self::failed(words, why)
    }

    /// The answer in the face's words, if it has any.
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
            // A picture has no words.
            None => return self.output,
        };
        ToolOutput {
            content: vec![Part::text((telling.words)(operation, &finding))],
            ..self.output
        }
    }
}

/// The system's name for an error, for those that people meet.
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

impl From<ToolOutput> for Answer {
    fn from(output: ToolOutput) -> Self {
        Self {
            output,
            finding: None,
        }
    }
}
