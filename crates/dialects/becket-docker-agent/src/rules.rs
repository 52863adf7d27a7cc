//! Rules in docker-agent's syntax, from an agent file or the user's docker-agent settings, next to becket's own.

use std::path::Path;

use becket_agent::{ArgumentRule, Rules, ToolRule};
use becket_events::{OperationKind, Profile};
use becket_hooks::{Pattern, SettingsError};

use crate::file::Permissions;
use crate::permissions::{RuleKind, TranslatedRule, translate_rule};
use crate::tools::profile;

/// Reads the rules of a file for a run in which the model knows tools by the names of a profile.
pub struct ForeignRules<'a> {
    /// The file.
    pub file: &'a Path,
    /// The directory that `~` stands for.
    pub home: Option<&'a Path>,
    /// The names of the tools.
    pub profile: &'a Profile,
}

impl ForeignRules<'_> {
    /// Adds the rules to the given ones.
    pub fn add(&self, rules: Rules, permissions: &Permissions) -> Result<Rules, SettingsError> {
        let deny = self.read(&permissions.deny, RuleKind::Deny)?;
        let allow = self.read(&permissions.allow, RuleKind::Allow)?;
        Ok(rules.and(deny, allow, self.read(&permissions.ask, RuleKind::Ask)?))
    }

    fn read(&self, rules: &[(String, usize)], kind: RuleKind) -> Result<Vec<ToolRule>, SettingsError> {
        let mut read = Vec::new();
        for (text, line) in rules {
            let translated = translate_rule(text, kind, self.home).map_err(|error| SettingsError {
                file: self.file.into(),
                line: *line,
                message: format!("the rule `{text}`: {error}"),
            })?;
            for rule in translated {
                let names = self.names(&rule, kind);
                read.extend(names.into_iter().map(|tool| tool_rule(text, tool, &rule)));
            }
        }
        Ok(read)
    }

    /// The names by which the model may know the tool: the one in the rule, and, if the run has other names, that of
    /// the same operation there. An allow is not extended if two tools become one, since it was about one of them.
    fn names(&self, rule: &TranslatedRule, kind: RuleKind) -> Vec<Pattern> {
        let theirs = profile();
        let count = |operation: OperationKind| {
            let faces = theirs.faces.iter();
            faces.filter(|face| face.operation == operation).count()
        };
        let follows = |operation: &OperationKind| kind != RuleKind::Allow || count(*operation) == 1;
        let mut names = vec![rule.tool.clone()];
        if let Some(operation) = rule.operation.filter(follows)
            && self.profile.name != theirs.name
        {
            let faces = self
                .profile
                .faces
                .iter()
                .filter(|face| face.operation == operation);
            names.extend(faces.map(|face| Pattern::Exact(face.name.into())));
        }
        names
    }
}

fn tool_rule(text: &str, tool: Pattern, rule: &TranslatedRule) -> ToolRule {
    let arguments = rule.arguments.iter().cloned();
    ToolRule {
        text: text.to_owned(),
        tool,
        operation: rule.operation,
        arguments: arguments
            .map(|(name, glob, pattern)| ArgumentRule { name, glob, pattern })
            .collect(),
    }
}
