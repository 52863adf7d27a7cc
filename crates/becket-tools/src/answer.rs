//! What an operation answers: in becket's own words, and as data for a face that has others.

use becket_agent::tool::ToolOutput;
use becket_events::{Face, Finding, Operation, Part, text_of};

/// The answer of an operation.
pub(crate) struct Answer {
    /// In becket's own words.
    pub(crate) output: ToolOutput,
    /// As data; what is only for the model has none.
    pub(crate) finding: Option<Finding>,
}

impl Answer {
    /// The answer in the face's words, if it has any.
    pub(crate) fn told_by(self, face: &Face, operation: &Operation) -> ToolOutput {
        let Some(telling) = face.output else {
            return self.output;
        };
        let is_text = |part: &Part| matches!(part, Part::Text { .. });
        let finding = match self.finding {
            Some(finding) => finding,
            None if self.output.is_error => Finding::Failure(text_of(&self.output.content)),
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

impl From<ToolOutput> for Answer {
    fn from(output: ToolOutput) -> Self {
        Self {
            output,
            finding: None,
        }
    }
}
