//! Rules of the configuration: which calls are allowed, denied, or always asked about.
//!
//! A rule is `tool` or `tool:argument=glob`, with more `:argument=glob` as needed; all must match. The tool has
//! becket's own name and may be a glob itself; a deny and an ask count as well by the name that the model knows it by.
//! Rules of another system come translated (`ToolRule`): they name a tool as the model knows it, and arguments by
//! becket's names. Rules judge the final arguments, paths after links and `..` were followed. Of an argument that is a
//! list, one element is enough to forbid, and all must match to allow; fields of an object are not looked into. Among
//! rules a deny beats an allow, and an allow beats an ask, unless the ask is of a system in which it is the other way
//! round. What forbids is also looked for in each command of a line, without its quotes.
//!
//! In an allow rule, `…` at the end of a command stands for further plain words (see `stored_rule.rs`).

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use becket_events::{OperationKind, RuleDecision, SessionRule};
use becket_hooks::{Pattern, nearest};
use becket_shell::command_texts;
use serde_json::{Map, Value};

use crate::command_files::files_of;
use crate::url_policy::{JudgedUrl, UrlVerdict, check_glob as check_url, leaves_host_open};
use crate::vfs::SCHEME;

/// The rules, in three lists.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    deny: Vec<PermissionRule>,
    allow: Vec<PermissionRule>,
    ask: Vec<PermissionRule>,
    /// Ask rules that no allow rule answers: those of systems in which an ask beats an allow.
    ask_first: Vec<PermissionRule>,
    /// Further allow rules that were stored at a question, perhaps a moment ago: all copies share them.
    stored: Arc<RwLock<Vec<PermissionRule>>>,
    /// Rules that hooks have given for the rest of the session. Copies share them.
    session: Arc<RwLock<SessionLists>>,
    /// The user's home, from which commands may name files.
    home: Option<Arc<Path>>,
}

/// Rules that count until the session ends. Among them, and before all others, a deny beats an ask, and an ask beats an
/// allow.
#[derive(Debug, Default)]
struct SessionLists {
    deny: Vec<PermissionRule>,
    ask: Vec<PermissionRule>,
    allow: Vec<PermissionRule>,
}

/// A rule that counts, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRule {
    /// What the rule does with a call.
    pub decision: RuleDecision,
    /// The rule.
    pub text: String,
    /// Where the rule comes from.
    pub origin: RuleOrigin,
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleOrigin {
    /// Settings.
    Written,
    /// The user stored it at a question.
    Stored,
    /// A hook gave it for the rest of the session.
    Hook,
    /// The user said yes to a call for the rest of the session.
    Granted,
}

/// The rules' verdict about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleVerdict<'a> {
    /// The call does not run; the rule is named.
    Deny(Cow<'a, str>),
    /// The call needs no question.
    Allow,
    /// The user is asked, even if the tool only reads, unless a hook allows the call.
    Ask(Cow<'a, str>),
    /// The user is asked, also where a hook allows the call: the rule is of a system in which no hook answers it.
    AskFirst(Cow<'a, str>),
    /// No rule matches the call.
    Silent,
}

impl RuleVerdict<'_> {
    /// The verdict's strictness; of several verdicts, the strictest counts.
    pub(crate) fn strictness(&self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Silent => 1,
            Self::Ask(_) => 2,
            Self::AskFirst(_) => 3,
            Self::Deny(_) => 4,
        }
    }
}

/// A rule of one of the three lists.
#[derive(Debug, Clone)]
struct PermissionRule {
    text: String,
    tool: NamedTool,
    arguments: Vec<ArgumentRule>,
}

/// The tool that a rule is about.
#[derive(Debug, Clone)]
enum NamedTool {
    /// By becket's own name.
    Own(Pattern),
    /// By the name that the model knows, with the operation that it must be; `None` for a tool that is no operation.
    Called(Pattern, Option<OperationKind>),
}

/// A rule's condition for one argument.
#[derive(Debug, Clone)]
pub struct ArgumentRule {
    /// The argument's name in becket's vocabulary.
    pub name: String,
    /// The glob as it was written.
    pub glob: String,
    /// The pattern that the argument must match.
    pub pattern: Pattern,
}

/// A rule of another system, translated.
#[derive(Debug, Clone)]
pub struct ToolRule {
    /// The rule as it was written.
    pub text: String,
    /// The tool as the model knows it.
    pub tool: Pattern,
    /// The operation that an allowed tool must be, since any tool may have the name; a deny or an ask goes by the name
    /// alone.
    pub operation: Option<OperationKind>,
    /// The conditions for the arguments.
    pub arguments: Vec<ArgumentRule>,
}

impl ArgumentRule {
    /// Whether a text holds what a rule forbids: of a command line, any command in it, however it is quoted.
    fn is_in(&self, text: &str) -> bool {
        let fits = |text: &String| self.pattern.matches(text);
        self.pattern.matches(text) || (self.name == "command" && command_texts(text).texts.iter().any(fits))
    }

    /// Whether the condition holds for a web address, read as the URL policy reads it.
    fn means_web(&self, call: RuledCall<'_>, means: fn(&JudgedUrl, &str) -> bool) -> bool {
        self.name == "url" && call.web.is_some_and(|web| means(web, &self.glob))
    }
}

impl From<ToolRule> for PermissionRule {
    fn from(rule: ToolRule) -> Self {
        Self {
            text: rule.text,
            tool: NamedTool::Called(rule.tool, rule.operation),
            arguments: rule.arguments,
        }
    }
}

/// A call as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct RuledCall<'a> {
    /// Becket's own name for the tool.
    pub tool_name: &'a str,
    /// The name by which the model called the tool. What is forbidden by that name is forbidden; what is allowed by it
    /// need not be, because any tool may have that name.
    pub called_as: &'a str,
    /// The call's final arguments.
    pub arguments: &'a Map<String, Value>,
    /// The resolved path, if the call touches one.
    pub path: Option<&'a Path>,
    /// The resolved source and destination, if the call copies or moves.
    pub pair: Option<(&'a Path, &'a Path)>,
    /// The directory in which the agent works.
    pub directory: &'a Path,
    /// The web address, if the call leads to one. An allow rule covers a place that is not on the open internet only if
    /// it is about the address and names its host.
    pub web: Option<&'a JudgedUrl>,
}

impl Rules {
    /// Reads the three lists; the error names the rule.
    pub fn parse(deny: &[String], allow: &[String], ask: &[String]) -> Result<Self, String> {
        let read = |rules: &[String], verdict| -> Result<Vec<PermissionRule>, String> {
            rules
                .iter()
                .map(|rule| PermissionRule::parse(rule, verdict))
                .collect()
        };
        Ok(Self {
            deny: read(deny, UrlVerdict::Deny)?,
            allow: read(allow, UrlVerdict::Allow)?,
            // An ask counts by the model's name for a tool as well, as a deny does: it must not be slipped past.
            ask: read(ask, UrlVerdict::Deny)?,
            ask_first: Vec::new(),
            stored: Arc::default(),
            session: Arc::default(),
            home: None,
        })
    }

    /// Adds an allow rule, for all copies of these rules.
    pub fn store(&self, rule: &str) -> Result<(), String> {
        let rule = PermissionRule::parse(rule, UrlVerdict::Allow)?;
        let mut stored = self.stored.write().unwrap_or_else(PoisonError::into_inner);
        stored.push(rule);
        Ok(())
    }

    /// These rules for a session of its own, which no hook has given rules yet.
    pub fn for_session(self) -> Self {
        Self {
            session: Arc::default(),
            ..self
        }
    }

    /// Adds rules of hooks until the session ends, for all copies of these rules. Those that allow count only
    /// `with_allow`. The error names a rule that cannot be read; those that ask or deny count all the same.
    pub fn add_for_session(&self, given: &[SessionRule], with_allow: bool) -> Result<(), String> {
        let mut wrong = Vec::new();
        for given in given {
            let rule = match PermissionRule::given(given) {
                Ok(rule) => rule,
                Err(why) => {
                    wrong.push(why);
                    continue;
                }
            };
            let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
            match given.decision {
                RuleDecision::Deny => session.deny.push(rule),
                RuleDecision::Ask => session.ask.push(rule),
                RuleDecision::Allow if with_allow => session.allow.push(rule),
                RuleDecision::Allow => {}
            }
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(wrong.join("; ")),
        }
    }

    fn session(&self) -> RwLockReadGuard<'_, SessionLists> {
        self.session.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// These rules for a user with this home.
    pub fn at_home(mut self, home: Option<&Path>) -> Self {
        self.home = home.map(Arc::from).or(self.home);
        self
    }

    /// These rules, and further ones of another system.
    pub fn and(mut self, deny: Vec<ToolRule>, allow: Vec<ToolRule>, ask: Vec<ToolRule>) -> Self {
        self.deny.extend(deny.into_iter().map(PermissionRule::from));
        self.allow.extend(allow.into_iter().map(PermissionRule::from));
        self.ask.extend(ask.into_iter().map(PermissionRule::from));
        self
    }

    /// These rules, and ask rules of another system in which an ask beats an allow.
    pub fn asking_first(mut self, ask: Vec<ToolRule>) -> Self {
        self.ask_first.extend(ask.into_iter().map(PermissionRule::from));
        self
    }

    /// All rules that count, those that deny first.
    pub fn listed(&self) -> Vec<ListedRule> {
        let stored = self.stored.read().unwrap_or_else(PoisonError::into_inner);
        let session = self.session();
        let lists: [(RuleDecision, RuleOrigin, &[PermissionRule]); 8] = [
            (RuleDecision::Deny, RuleOrigin::Written, &self.deny),
            (RuleDecision::Deny, RuleOrigin::Hook, &session.deny),
            (RuleDecision::Ask, RuleOrigin::Written, &self.ask_first),
            (RuleDecision::Ask, RuleOrigin::Hook, &session.ask),
            (RuleDecision::Ask, RuleOrigin::Written, &self.ask),
            (RuleDecision::Allow, RuleOrigin::Written, &self.allow),
            (RuleDecision::Allow, RuleOrigin::Stored, &stored),
            (RuleDecision::Allow, RuleOrigin::Hook, &session.allow),
        ];
        let rules = lists.iter().flat_map(|(decision, origin, rules)| {
            rules.iter().map(|rule| ListedRule {
                decision: *decision,
                text: rule.text.clone(),
                origin: *origin,
            })
        });
        rules.collect()
    }

    /// The first rule that allows a call, as it was written.
    pub fn allowing(&self, call: RuledCall<'_>) -> Option<String> {
        let stored = self.stored.read().unwrap_or_else(PoisonError::into_inner);
        let session = self.session();
        let mut allow = self.allow.iter().chain(&*stored).chain(&session.allow);
        let found =
            allow.find(|rule| rule.names_certainly(call) && rule.covers(call) && !rule.is_outwitted_by(call));
        found.map(|rule| rule.text.clone())
    }

    /// The rules' verdict about a call.
    pub fn judge<'a>(&'a self, call: RuledCall<'_>) -> RuleVerdict<'a> {
        let forbids = |rule: &&PermissionRule| rule.names(call) && rule.touches(call, self.home.as_deref());
        let given = |list: fn(&SessionLists) -> &[PermissionRule]| {
            let found = list(&self.session())
                .iter()
                .find(forbids)
                .map(|rule| rule.text.clone());
            found.map(Cow::Owned)
        };
        let named = |rule: &'a PermissionRule| Cow::Borrowed(rule.text.as_str());
        let denying = self.deny.iter().find(forbids).map(named);
        if let Some(rule) = denying.or_else(|| given(|session| &session.deny)) {
            return RuleVerdict::Deny(rule);
        }
        let asking = self.ask_first.iter().find(forbids).map(named);
        if let Some(rule) = asking.or_else(|| given(|session| &session.ask)) {
            return RuleVerdict::AskFirst(rule);
        }
        if self.allowing(call).is_some() {
            return RuleVerdict::Allow;
        }
        match self.ask.iter().find(forbids) {
            Some(rule) => RuleVerdict::Ask(named(rule)),
            None => RuleVerdict::Silent,
        }
    }
}

impl PermissionRule {
    fn parse(text: &str, verdict: UrlVerdict) -> Result<Self, String> {
        let wrong = |what: &str| format!("rule `{text}`: {what}; write `tool` or `tool:argument=glob`");
        let mut pieces = text.split(':');
        let tool = pieces.next().unwrap_or_default().trim();
        if tool.is_empty() {
            return Err(wrong("the tool is missing"));
        }
        let mut arguments: Vec<(String, String)> = Vec::new();
        for piece in pieces {
            match (piece.split_once('='), arguments.last_mut()) {
                (Some((name, glob)), _) if is_name(name) => arguments.push((name.into(), glob.into())),
                // This is a colon inside a glob, as in an address.
                (_, Some((_, glob))) => {
                    glob.push(':');
                    glob.push_str(piece);
                }
                _ => return Err(wrong("an argument has no `=`")),
            }
        }
        if let Some(kind) = OperationKind::ALL.iter().find(|kind| kind.name() == tool) {
            for (name, _) in &arguments {
                is_argument(*kind, name).map_err(|error| format!("rule `{text}`: {error}"))?;
            }
        }
        for (name, glob) in &arguments {
            check_glob(name, glob).map_err(|what| wrong(&what))?;
            if name == "url" && may_fetch(tool) {
                check_url(glob, verdict).map_err(|what| format!("rule `{text}`: {what}"))?;
            }
        }
        let glob = |glob: &str| Pattern::glob(glob).map_err(|error| wrong(&error));
        let read = |(name, text): (String, String)| {
            let pattern = match text.strip_suffix(FURTHER_WORDS).filter(|_| name == "command") {
                None => glob(&text)?,
                Some(words) if verdict == UrlVerdict::Allow => words_and_further(words)?,
                Some(_) => return Err(wrong("`…` works only in allow rules; `*` matches any text")),
            };
            Ok(ArgumentRule {
                name,
                glob: text,
                pattern,
            })
        };
        Ok(Self {
            text: text.into(),
            tool: NamedTool::Own(glob(tool)?),
            arguments: arguments.into_iter().map(read).collect::<Result<_, String>>()?,
        })
    }

    /// A rule that a hook has given.
    fn given(given: &SessionRule) -> Result<Self, String> {
        let verdict = match given.decision {
            RuleDecision::Allow => UrlVerdict::Allow,
            RuleDecision::Ask | RuleDecision::Deny => UrlVerdict::Deny,
        };
        let mut rule = Self::parse(&given.rule, verdict)?;
        for (name, expression) in &given.patterns {
            let pattern = Pattern::regex(expression)
                .map_err(|error| format!("rule `{}`: the pattern of `{name}`: {error}", given.rule))?;
            rule.arguments.push(ArgumentRule {
                name: name.clone(),
                glob: expression.clone(),
                pattern,
            });
        }
        rule.text = given.written.clone().unwrap_or(rule.text);
        Ok(rule)
    }

    /// Whether the rule names the called tool beyond doubt, as an allow needs it: a tool may have any name for the
    /// model.
    fn names_certainly(&self, call: RuledCall<'_>) -> bool {
        match &self.tool {
            NamedTool::Own(tool) => tool.matches(call.tool_name),
            NamedTool::Called(tool, operation) => {
                let own_name = operation.map_or(call.called_as, |kind| kind.name());
                tool.matches(call.called_as) && own_name == call.tool_name
            }
        }
    }

    fn names(&self, call: RuledCall<'_>) -> bool {
        match &self.tool {
            NamedTool::Own(tool) => tool.matches(call.tool_name) || tool.matches(call.called_as),
            // An implied operation, such as the reading in an edit, has the operation's own name on both sides.
            NamedTool::Called(tool, operation) => {
                let is_besides = |kind: OperationKind| [call.tool_name, call.called_as] == [kind.name(); 2];
                tool.matches(call.called_as) || operation.is_some_and(is_besides)
            }
        }
    }

    /// Whether the rule matches a part of the call: any element of a list, in any way of writing it.
    fn touches(&self, call: RuledCall<'_>, home: Option<&Path>) -> bool {
        let command = call.arguments.get("command").and_then(Value::as_str);
        let place = (call.path.unwrap_or(call.directory), home);
        self.arguments.iter().all(|rule| {
            if let Some(files) = files_of(&rule.name, command.unwrap_or_default(), place) {
                return files.iter().any(|file| rule.pattern.matches(file));
            }
            let mut texts = things_of(&rule.name, call)
                .into_iter()
                .flatten()
                .chain(list_as_text(&rule.name, call));
            texts.any(|text| rule.is_in(&text)) || rule.means_web(call, JudgedUrl::is_possibly)
        })
    }

    /// Whether the rule matches all of the call: every element of a list.
    fn covers(&self, call: RuledCall<'_>) -> bool {
        self.arguments.iter().all(|rule| {
            let things = things_of(&rule.name, call);
            let all = things
                .iter()
                .all(|ways| ways.iter().any(|text| rule.pattern.matches(text)));
            (!things.is_empty() && all) || rule.means_web(call, JudgedUrl::is_certainly)
        })
    }

    fn about(&self, argument: &str) -> Option<&ArgumentRule> {
        self.arguments.iter().find(|rule| rule.name == argument)
    }

    /// Whether an allow rule matches a call that it is not meant for. `git *` is not meant to allow `git status; rm -rf
    /// /`, nor `git status` in some other folder: a wildcard never covers the shell's operators, and a rule about a
    /// command without one about `cwd` stays in the directory. Nor does a rule allow what only looks like the place
    /// that it names, and is a link to another one, or has the allowed host somewhere in its path. A rule that leaves
    /// the host open means the open internet.
    fn is_outwitted_by(&self, call: RuledCall<'_>) -> bool {
        let by_link = |rule: &ArgumentRule| {
            let path = resolved(&rule.name, call);
            path.is_some_and(|path| !rule.pattern.matches(&path.display().to_string()))
        };
        if self.arguments.iter().any(by_link) {
            return true;
        }
        if let Some(web) = call.web {
            return match self.about("url") {
                None => web.class().is_some(),
                Some(rule) => {
                    let glob = &rule.glob;
                    !web.is_certainly(glob) || (web.class().is_some() && leaves_host_open(glob))
                }
            };
        }
        let (Some(rule), Some(Value::String(command))) =
            (self.about("command"), call.arguments.get("command"))
        else {
            return false;
        };
        let compound = command.contains(OPERATORS) && rule.glob != *command;
        let elsewhere =
            call.path.is_some_and(|path| !path.starts_with(call.directory)) && self.about("cwd").is_none();
        compound || elsewhere
    }
}

/// Refuses globs that could never match, since such a rule looks like protection.
fn check_glob(name: &str, glob: &str) -> Result<(), String> {
    if glob.trim() != glob || glob.is_empty() {
        return Err(format!("`{name}` is empty or has spaces around it"));
    }
    // The two slashes of an address are no empty part of a path.
    let path = glob.strip_prefix(SCHEME).unwrap_or(glob);
    let odd_part = |part: &str| matches!(part, "." | ".." | "~");
    let odd = path.split('/').any(odd_part) || path.contains("//") || (path.len() > 1 && path.ends_with('/'));
    if matches!(name, "path" | "cwd" | "src" | "dst") && odd {
        return Err(format!(
            "`{glob}` never matches: paths are judged with links and `..` resolved, absolute or relative to the \
             working directory, as in `/etc/*` or `src/*`"
        ));
    }
    Ok(())
}

/// At the end of a command in an allow rule, stands for further plain words.
pub(crate) const FURTHER_WORDS: &str = " …";

/// A pattern for these words and any number of further plain ones. A plain word is a name or a path of names: it is no
/// option and leads nowhere else (no `-` or `/` at its beginning, no `..`), and `:` stands in it only as in
/// `module::name`.
fn words_and_further(words: &str) -> Result<Pattern, String> {
    const NAME: &str = r"\.?(?:\w|::)(?:[\w.-]|::)*";
    let words = regex::escape(words);
    Pattern::regex(&format!(r"{words}(?:[ \t]+(?:\.|{NAME})(?:/{NAME})*/?)*"))
}

/// Characters by which a shell command becomes more than one, or touches files.
const OPERATORS: &[char] = &[';', '&', '|', '`', '$', '<', '>', '(', ')', '\n', '\r'];

/// Checks that an operation has an argument of that name; the error names the one that may have been meant.
fn is_argument(kind: OperationKind, name: &str) -> Result<(), String> {
    let schema = kind.schema();
    let known = || schema["properties"].as_object().into_iter().flat_map(Map::keys);
    if known().any(|argument| argument == name) {
        return Ok(());
    }
    let wrong = format!("the tool `{}` has no argument `{name}`", kind.name());
    Err(match nearest(name, known().map(String::as_str)) {
        Some(near) => format!("{wrong}; did you mean `{near}`?"),
        None => {
            let known: Vec<&str> = known().map(String::as_str).collect();
            format!("{wrong}; it has {}", known.join(", "))
        }
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|character| character.is_alphanumeric() || character == '_')
}

/// Whether a rule about that tool may be about an operation with a URL.
fn may_fetch(tool: &str) -> bool {
    let named = |kind: &&OperationKind| Pattern::glob(tool).is_ok_and(|tool| tool.matches(kind.name()));
    OperationKind::ALL
        .iter()
        .filter(named)
        .any(|kind| is_argument(*kind, "url").is_ok())
}

/// The things that an argument names, each in the ways in which a rule may write it: a path absolutely or from the
/// directory. A list names one thing for each element, and an empty list names itself.
fn things_of(name: &str, call: RuledCall<'_>) -> Vec<Vec<String>> {
    if let ("path" | "cwd", Some(path)) = (name, call.path) {
        let inside = path.strip_prefix(call.directory).ok();
        let ways = [Some(path), inside].into_iter().flatten();
        return vec![ways.map(|path| path.display().to_string()).collect()];
    }
    if let ("url", Some(web)) = (name, call.web) {
        return vec![web.texts()];
    }
    let mut things = Vec::new();
    add_things(call.arguments.get(name).unwrap_or(&Value::Null), &mut things);
    match resolved(name, call).map(|path| path.display().to_string()) {
        None => things.into_iter().map(|thing| vec![thing]).collect(),
        Some(resolved) => vec![things.into_iter().chain([resolved]).collect()],
    }
}

/// Adds the elements of a list, also of lists in it; anything else is one thing.
fn add_things(value: &Value, things: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::String(text) => things.push(text.clone()),
        Value::Array(elements) if !elements.is_empty() => {
            elements.iter().for_each(|element| add_things(element, things));
        }
        other => things.push(other.to_string()),
    }
}

/// A list as one text, which a rule that forbids may match as well.
fn list_as_text(name: &str, call: RuledCall<'_>) -> Option<String> {
    let value = call.arguments.get(name)?;
    value.is_array().then(|| value.to_string())
}

/// The resolved path of an argument of a copy or a move.
fn resolved<'a>(name: &str, call: RuledCall<'a>) -> Option<&'a Path> {
    match (name, call.pair?) {
        ("src", (source, _)) => Some(source),
        ("dst", (_, destination)) => Some(destination),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rules(deny: &[&str], allow: &[&str], ask: &[&str]) -> Rules {
        let own = |rules: &[&str]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
        Rules::parse(&own(deny), &own(allow), &own(ask)).unwrap()
    }

    fn says<'a>(rules: &'a Rules, tool: &str, arguments: Value, path: Option<&str>) -> RuleVerdict<'a> {
        rules.judge(RuledCall {
            tool_name: tool,
            called_as: tool,
            pair: None,
            arguments: arguments.as_object().unwrap(),
            path: path.map(Path::new),
            directory: Path::new("/work"),
            web: None,
        })
    }

    #[test]
    fn deny_beats_allow_beats_ask() {
        let rules = rules(
            &["shell:command=*sudo*"],
            &["shell:command=git *", "read"],
            &["read", "shell:command=git push*"],
        );
        let shell = |command: &str| says(&rules, "shell", json!({"command": command}), None);
        assert_eq!(shell("git status"), RuleVerdict::Allow);
        assert_eq!(
            shell("sudo git status"),
            RuleVerdict::Deny("shell:command=*sudo*".into())
        );
        assert_eq!(shell("ls"), RuleVerdict::Silent);
        assert_eq!(
            says(&rules, "read", json!({"path": "x"}), None),
            RuleVerdict::Allow
        );
    }

    #[test]
    fn a_wildcard_in_an_allow_rule_does_not_cover_operators() {
        let rules = rules(&[], &["shell:command=git *", "shell:command=a | b"], &[]);
        for command in [
            "git status; rm -rf /",
            "git log && x",
            "git $(x)",
            "git `x`",
            "git log > f",
            "git\nx",
            "git x\ny",
        ] {
            assert_eq!(
                says(&rules, "shell", json!({"command": command}), None),
                RuleVerdict::Silent,
                "{command}"
            );
        }
        assert_eq!(
            says(&rules, "shell", json!({"command": "a | b"}), None),
            RuleVerdict::Allow
        );
        for list in [0, 1] {
            let rules = |place: usize| match place == list {
                true => vec!["shell:command=rm …".to_owned()],
                false => Vec::new(),
            };
            let error = Rules::parse(&rules(0), &[], &rules(1)).unwrap_err();
            assert!(error.contains("works only in allow rules"), "{error}");
        }
    }

    #[test]
    fn a_rule_about_a_command_stays_in_the_directory() {
        let rules = rules(&[], &["shell:command=git *", "shell:command=ls:cwd=/tmp*"], &[]);
        let shell = |command: &str, directory: &str| {
            says(
                &rules,
                "shell",
                json!({"command": command, "cwd": "whatever"}),
                Some(directory),
            )
        };
        assert_eq!(shell("git status", "/work/sub"), RuleVerdict::Allow);
        assert_eq!(shell("git status", "/elsewhere"), RuleVerdict::Silent);
        assert_eq!(shell("ls", "/tmp/x"), RuleVerdict::Allow);
    }

    fn called<'a>(rules: &'a Rules, (own, called_as): (&str, &str), arguments: Value) -> RuleVerdict<'a> {
        rules.judge(RuledCall {
            tool_name: own,
            called_as,
            pair: None,
            arguments: arguments.as_object().unwrap(),
            path: None,
            directory: Path::new("/work"),
            web: None,
        })
    }

    fn translated(tool: &str, operation: Option<OperationKind>, arguments: &[(&str, &str)]) -> ToolRule {
        let argument = |(name, glob): &(&str, &str)| ArgumentRule {
            name: (*name).into(),
            glob: (*glob).into(),
            pattern: Pattern::glob(glob).unwrap(),
        };
        ToolRule {
            text: tool.into(),
            tool: Pattern::Exact(tool.into()),
            operation,
            arguments: arguments.iter().map(argument).collect(),
        }
    }

    #[test]
    fn a_translated_rule_means_the_tool_as_the_model_knows_it_and_what_it_does() {
        let read = || translated("read_file", Some(OperationKind::Read), &[("path", "a*")]);
        let allow = Rules::default().and(vec![], vec![read()], vec![]);
        let arguments = || json!({"path": "abc"});
        assert_eq!(
            called(&allow, ("read", "read_file"), arguments()),
            RuleVerdict::Allow
        );
        // Another tool that reads, and another tool that took the name.
        assert_eq!(
            called(&allow, ("read", "other"), arguments()),
            RuleVerdict::Silent
        );
        assert_eq!(
            called(&allow, ("read_file", "read_file"), arguments()),
            RuleVerdict::Silent
        );
        let deny = Rules::default().and(vec![read()], vec![], vec![]);
        for (names, denied) in [
            (("read", "read_file"), true),
            (("x", "read_file"), true),
            (("read", "read"), true),
            (("read", "other"), false),
            (("write", "write_file"), false),
        ] {
            let verdict = called(&deny, names, arguments());
            assert_eq!(
                verdict == RuleVerdict::Deny("read_file".into()),
                denied,
                "{names:?}"
            );
        }
    }

    #[test]
    fn an_allow_covers_every_member_of_a_list_and_a_deny_any() {
        let rule = || translated("many", None, &[("paths", "src/*")]);
        let both = json!({"paths": ["src/a", "/etc/passwd"]});
        let allow = Rules::default().and(vec![], vec![rule()], vec![]);
        assert_eq!(
            called(&allow, ("many", "many"), both.clone()),
            RuleVerdict::Silent
        );
        assert_eq!(
            called(&allow, ("many", "many"), json!({"paths": []})),
            RuleVerdict::Silent
        );
        let inside = json!({"paths": ["src/a", "src/b"]});
        assert_eq!(called(&allow, ("many", "many"), inside), RuleVerdict::Allow);
        let deny = Rules::default().and(vec![rule()], vec![], vec![]);
        assert_eq!(
            called(&deny, ("many", "many"), both),
            RuleVerdict::Deny("many".into())
        );
        let own = rules(&["many:paths=/etc/*"], &[], &[]);
        let verdict = called(&own, ("many", "many"), json!({"paths": ["a", "/etc/x"]}));
        assert_eq!(verdict, RuleVerdict::Deny("many:paths=/etc/*".into()));
    }

    #[test]
    fn a_translated_rule_about_commands_does_not_cover_operators() {
        let shell = |glob| translated("shell", Some(OperationKind::Shell), &[("command", glob)]);
        let rules = Rules::default().and(vec![], vec![shell("ls*"), shell("a | b")], vec![]);
        let says = |command: &str| called(&rules, ("shell", "shell"), json!({"command": command}));
        assert_eq!(says("ls -l"), RuleVerdict::Allow);
        assert_eq!(says("ls; rm -rf /"), RuleVerdict::Silent);
        assert_eq!(says("a | b"), RuleVerdict::Allow);
    }

    #[test]
    fn a_path_is_judged_resolved() {
        let rules = rules(&["*:path=/etc/*"], &["write:path=src/*"], &[]);
        let write = |resolved: &str| says(&rules, "write", json!({"path": "whatever"}), Some(resolved));
        assert_eq!(write("/work/src/a/b.rs"), RuleVerdict::Allow);
        assert_eq!(write("/etc/passwd"), RuleVerdict::Deny("*:path=/etc/*".into()));
        assert_eq!(write("/work/other"), RuleVerdict::Silent);
    }

    #[test]
    fn colons_inside_globs_are_kept() {
        let rules = rules(&["fetch:url=http://localhost:*"], &[], &[]);
        let verdict = says(&rules, "fetch", json!({"url": "http://localhost:80/x"}), None);
        assert_eq!(verdict, RuleVerdict::Deny("fetch:url=http://localhost:*".into()));
    }

    #[tokio::test]
    async fn a_rule_that_leaves_the_host_open_does_not_allow_this_machine() {
        let judge = crate::url_policy::UrlJudge::default();
        for (rule, url, allowed) in [
            ("fetch:url=*", "http://127.0.0.1:7001/x", false),
            ("fetch:url=http://*/*", "http://127.0.0.1:7001/x", false),
            ("fetch:url=http://127.*:7001/*", "http://127.0.0.1:7001/x", false),
            ("fetch:url=http://127.0.0.1:*", "http://127.0.0.1:7001/x", true),
            (
                "fetch:url=http://127.0.0.1:7001/*",
                "http://127.0.0.1:7001/x",
                true,
            ),
            ("fetch:url=http://9.9.9.9/*", "http://[::ffff:9.9.9.9]/x", false),
            ("fetch:url=http://*/*", "http://9.9.9.9/x", true),
            ("fetch:url=HTTP://9.9.9.9:80/*", "http://9.9.9.9/x", true),
            ("fetch:url=http://9.9.9.9/x/*", "http://9.9.9.9/x/y", true),
            ("fetch", "http://9.9.9.9/x", true),
            ("fetch", "http://127.0.0.1:7001/x", false),
        ] {
            let judged = judge.judge(url).await.unwrap();
            let says = |rules: &Rules| {
                let verdict = rules.judge(RuledCall {
                    tool_name: "fetch",
                    called_as: "fetch",
                    pair: None,
                    arguments: &Map::new(),
                    path: None,
                    directory: Path::new("/work"),
                    web: Some(&judged),
                });
                verdict.strictness()
            };
            let allowing = says(&rules(&[], &[rule], &[]));
            assert_eq!(
                allowing == RuleVerdict::Allow.strictness(),
                allowed,
                "{rule} {url}"
            );
            // A rule that does not allow the address may still deny it.
            let denies = RuleVerdict::Deny("any".into()).strictness();
            assert_eq!(says(&rules(&[rule], &[], &[])), denies, "{rule} {url}");
        }
    }

    #[test]
    fn one_element_of_a_list_forbids_and_all_of_them_allow() {
        let rules = rules(&["read_all:paths=*.env"], &["read_all:paths=src/*"], &[]);
        let read = |paths: Value| says(&rules, "read_all", json!({"paths": paths}), None).strictness();
        let deny = RuleVerdict::Deny("any".into()).strictness();
        let (allow, silent) = (RuleVerdict::Allow.strictness(), RuleVerdict::Silent.strictness());
        for (paths, expected) in [
            (json!(["src/a", ".env"]), deny),
            (json!(["src/a", ["src/b", "c.env"]]), deny),
            (json!(".env"), deny),
            (json!(["src/a", "src/b"]), allow),
            (json!(["src/a", "/etc/passwd"]), silent),
            (json!(["src/a", 7]), silent),
            (json!([]), silent),
            (json!(null), silent),
            // A field of an object has another name than the rule.
            (json!([{"file": "x.env"}]), silent),
        ] {
            assert_eq!(read(paths.clone()), expected, "{paths}");
        }
        let whole = Rules::parse(&["x:tags=*a*b*".into()], &[], &[]).unwrap();
        assert_eq!(
            says(&whole, "x", json!({"tags": ["a", "b"]}), None).strictness(),
            deny
        );
    }

    #[test]
    fn addresses_that_never_match_are_refused() {
        let error = |rule: &str, verdict| PermissionRule::parse(rule, verdict).unwrap_err();
        for (rule, words) in [
            ("fetch:url=/admin/*", "write the whole address"),
            ("fetch:url=example.com/*", "`https://example.com/*`"),
            ("*:url=example.com", "`https://example.com/*`"),
            ("fe*:url=ftp://example.com/*", "`ftp` is never fetched"),
            ("fetch:url=http://a@b/*", "password"),
            ("fetch:url=https://a.example/x#y", "`#`"),
        ] {
            for verdict in [UrlVerdict::Deny, UrlVerdict::Allow] {
                let error = error(rule, verdict);
                assert!(error.contains(words) && error.contains(rule), "{rule}: {error}");
            }
        }
        assert!(error("fetch:url=https://a.example*", UrlVerdict::Allow).contains("evil.example"));
        // In a plugin's tool, an argument of that name may mean anything.
        for rule in ["search:url=/admin/*", "fetch:url=*secret*", "fetch:url=*"] {
            PermissionRule::parse(rule, UrlVerdict::Deny).unwrap();
        }
    }

    #[test]
    fn paths_that_never_match_are_refused() {
        for rule in [
            "read:path=./x",
            "read:path=~/x",
            "read:path=../x",
            "read:path=a//b",
            "read:path=vfs:///shared//x",
            "vfs_delete:path=vfs:///shared/",
            "read:path=sub/",
            "read:path=",
            "shell:command= x",
        ] {
            assert!(Rules::parse(&[rule.to_string()], &[], &[]).is_err(), "{rule}");
        }
        for rule in [
            "read:path=/",
            "read:path=*.env",
            "read:path=a/*/b",
            "read:path=vfs:///shared/*",
            "vfs_copy:dst=vfs:///site/*",
            "fetch:url=http://x/",
        ] {
            assert!(Rules::parse(&[rule.to_string()], &[], &[]).is_ok(), "{rule}");
        }
    }

    #[test]
    fn wrong_rules_are_named() {
        assert!(
            Rules::parse(&["shell:rm".into()], &[], &[])
                .unwrap_err()
                .contains("`shell:rm`")
        );
        assert!(Rules::parse(&["".into()], &[], &[]).is_err());
        assert!(Rules::parse(&["x:a=[".into()], &[], &[]).is_err());
    }

    #[test]
    fn an_argument_that_the_tool_does_not_have_is_an_error_with_a_suggestion() {
        for (rule, message) in [
            (
                "shell:comand=rm*",
                "rule `shell:comand=rm*`: the tool `shell` has no argument `comand`; did you mean `command`?",
            ),
            (
                "read:file_name=*",
                "the tool `read` has no argument `file_name`; it has path",
            ),
        ] {
            let error = Rules::parse(&[], &[rule.into()], &[]).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        assert!(Rules::parse(&["*:path=/etc/*".into(), "other:x=y".into()], &[], &[]).is_ok());
    }
}
