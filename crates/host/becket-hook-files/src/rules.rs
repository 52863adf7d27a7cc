//! Permission rules of another system, in becket's words.

use becket_agent::{ArgumentRule, ToolRule};
use becket_events::{OperationKind, Profile};
use becket_hooks::Pattern;

/// The rules of a file.
#[derive(Debug, Clone, Default)]
pub struct RuleLists {
    /// Calls that never run.
    pub deny: Vec<ForeignRule>,
    /// Calls about which the user is asked.
    pub ask: Vec<ForeignRule>,
    /// Calls about which nobody is asked.
    pub allow: Vec<ForeignRule>,
}

/// A rule.
#[derive(Debug, Clone)]
pub struct ForeignRule {
    /// The rule as it is written.
    pub text: String,
    /// The tool.
    pub tool: RuledTool,
    /// The argument that the rule looks at, by becket's name, with the pattern as it is shown and as it is matched.
    pub argument: Option<(&'static str, String, Pattern)>,
}

/// The tool of a rule.
#[derive(Debug, Clone)]
pub enum RuledTool {
    /// Every tool that does this.
    Operation(OperationKind),
    /// Tools without an operation, by name.
    Named(Pattern),
}

impl ForeignRule {
    /// The rule for a model that knows tools by the names of a profile.
    pub fn named(&self, profile: &Profile) -> Vec<ToolRule> {
        let argument = self.argument.iter().map(|(name, glob, pattern)| ArgumentRule {
            name: (*name).to_owned(),
            glob: glob.clone(),
            pattern: pattern.clone(),
        });
        let arguments: Vec<ArgumentRule> = argument.collect();
        let rule = |tool: Pattern, operation: Option<OperationKind>| ToolRule {
            text: self.text.clone(),
            tool,
            operation,
            arguments: arguments.clone(),
        };
        match &self.tool {
            RuledTool::Named(pattern) => vec![rule(pattern.clone(), None)],
            RuledTool::Operation(operation) => {
                let faces = profile.faces.iter().filter(|face| face.operation == *operation);
                let names = faces.map(|face| face.name).chain([operation.name()]);
                let mut names: Vec<&str> = names.collect();
                names.dedup();
                let rules = names.into_iter();
                rules
                    .map(|name| rule(Pattern::Exact(name.into()), Some(*operation)))
                    .collect()
            }
        }
    }
}
