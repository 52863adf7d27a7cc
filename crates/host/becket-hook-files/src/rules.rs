//! Permission rules of another system, in becket's words.

use becket_agent::{ArgumentRule, ToolRule};
use becket_events::{OperationKind, Profile, RuleDecision, SessionRule};
use becket_hooks::Pattern;
use serde_json::Value;

/// The rules of a file.
#[derive(Debug, Clone, Default)]
pub struct RuleLists {
    /// Calls that never run.
    pub deny: Vec<ForeignRule>,
    /// Calls about which the user is asked.
    pub ask: Vec<ForeignRule>,
    /// Calls about which nobody is asked.
    pub allow: Vec<ForeignRule>,
    /// What the user should know about rules that have no effect here.
    pub remarks: Vec<String>,
}

/// A rule.
#[derive(Debug, Clone)]
pub struct ForeignRule {
    /// The rule as it is written.
    pub text: String,
    /// The tool.
    pub tool: RuledTool,
    /// The argument that the rule looks at.
    pub argument: Option<Argument>,
}

/// An argument that a rule looks at: becket's name for it, and the pattern as it is shown and as it is matched.
pub type Argument = (&'static str, String, Pattern);

/// Calls that a rule is about: what they do, and with what.
pub type RuledCalls = Vec<(OperationKind, Option<Argument>)>;

/// The tool of a rule.
#[derive(Debug, Clone)]
pub enum RuledTool {
    /// Every tool that does this.
    Operation(OperationKind),
    /// Tools without an operation, by name.
    Named(Pattern),
}

/// The texts of a list of rules. The error names the list, because what cannot be read could restrict.
pub fn rule_texts<'a>(list: Option<&'a Value>, name: &str) -> Result<Vec<&'a str>, String> {
    let Some(list) = list else {
        return Ok(Vec::new());
    };
    let texts = list.as_array().map(|list| list.iter().map(Value::as_str));
    let texts: Option<Vec<&str>> = texts.and_then(Iterator::collect);
    texts.ok_or_else(|| format!("`{name}` must be a list of texts"))
}

/// The tool of a rule, and what stands in brackets behind it.
pub fn rule_parts(text: &str) -> Result<(&str, Option<&str>), String> {
    let text = text.trim();
    let Some((tool, rest)) = text.split_once('(') else {
        return Ok((text, None));
    };
    let pattern = rest.strip_suffix(')').ok_or("it has no closing bracket")?.trim();
    Ok((tool.trim(), Some(pattern).filter(|pattern| !pattern.is_empty())))
}

impl RuleLists {
    /// The rules for the rest of a session.
    pub fn for_session(&self) -> Vec<SessionRule> {
        let lists = [
            (RuleDecision::Deny, &self.deny),
            (RuleDecision::Ask, &self.ask),
            (RuleDecision::Allow, &self.allow),
        ];
        let rules = lists
            .into_iter()
            .flat_map(|(decision, rules)| rules.iter().map(move |rule| rule.for_session(decision)));
        rules.collect()
    }
}

impl ForeignRule {
    /// The rules that stand for a text in a file, one for each kind of call that it is about.
    pub fn about(text: &str, calls: RuledCalls) -> Vec<Self> {
        let rule = |(operation, argument)| Self {
            text: text.to_owned(),
            tool: RuledTool::Operation(operation),
            argument,
        };
        calls.into_iter().map(rule).collect()
    }

    /// The rule for tools without an operation.
    pub fn named_tools(text: &str, tool: RuledTool) -> Self {
        Self {
            text: text.to_owned(),
            tool,
            argument: None,
        }
    }

    /// The rule for the rest of a session.
    fn for_session(&self, decision: RuleDecision) -> SessionRule {
        let tool = match &self.tool {
            RuledTool::Operation(operation) => operation.name(),
            RuledTool::Named(pattern) => pattern.written(),
        };
        let (rule, pattern) = match &self.argument {
            None => (tool.to_owned(), None),
            Some((name, _, pattern @ Pattern::Regex(_))) => (
                tool.to_owned(),
                Some(((*name).to_owned(), pattern.written().to_owned())),
            ),
            Some((name, glob, _)) => (format!("{tool}:{name}={glob}"), None),
        };
        SessionRule {
            decision,
            rule,
            patterns: pattern.into_iter().collect(),
            written: Some(self.text.clone()),
        }
    }

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
