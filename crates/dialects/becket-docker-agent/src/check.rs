//! Checks of docker-agent's hooks before they run.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_agent::Rules;
use becket_check::{
    CheckedHook, Finding, GUESTS, HookFile, Kind, NamedFile, Severity, Start, Subject, ToolNames, answers_of,
    boxed, objects, written, wrong_answer,
};
use becket_events::{Class, EventId};
use becket_hooks::{HookEnvironment, Layout, Pattern, SettingsError, nearest, read_around_mistakes};
use becket_host::{AGENT_FILE, GuestSearch};
use becket_system::CliError;
use becket_system::files::read_regular;

use crate::contract::Contract;
use crate::file::{AgentFile, Permissions, ToolsetKind};
use crate::found::Sources;
use crate::hook::{Builtin, HookEntry, HookKind, OnError};
use crate::named_fields::{meaningless_fields, rewriting_fields, troubles_of_answer};
use crate::rows::all_contracts;
use crate::rules::ForeignRules;
use crate::sources::{FileKind, HOOK_FILE, HookFlag, PersonsSettings, is_drop_in, read_drop_in};
use crate::tools::{profile, tool_names};

/// The largest file that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// A hook, with the contract of its event.
#[derive(Debug)]
struct CheckedEntry {
    entry: HookEntry,
    contract: Contract,
}

impl CheckedHook for CheckedEntry {
    fn line(&self) -> Option<usize> {
        self.entry.line()
    }

    fn fingerprint(&self) -> Option<String> {
        // A hook that comes from a setting of the file has no line, and agents may share it.
        self.entry.line().map(|_| {
            let HookEntry { matcher, kind, .. } = &self.entry;
            format!("{} {matcher:?} {kind:?}", self.contract.name)
        })
    }

    fn event(&self) -> Option<(EventId, &'static str)> {
        Some((self.contract.event, self.contract.name))
    }

    fn start(&self) -> Start<'_> {
        match &self.entry.kind {
            HookKind::Command(command) => Start::Line(command),
            HookKind::Builtin(_) | HookKind::Model { .. } => Start::Nothing,
        }
    }

    fn working_dir(&self, directory: &Path) -> Option<Option<PathBuf>> {
        let own = self.entry.working_dir.as_ref()?;
        Some((!own.contains('$') && !own.starts_with('~')).then(|| directory.join(own)))
    }

    fn variables(&self, environment: &HookEnvironment) -> BTreeMap<OsString, OsString> {
        self.entry.variables(environment)
    }

    fn timeout(&self) -> Option<Duration> {
        Some(self.entry.timeout)
    }

    fn rewrites(&self, script: &str) -> Vec<&'static str> {
        rewriting_fields(&written::heard(script).join("\n"), &self.contract)
    }

    fn may_meet(&self, other: &dyn CheckedHook) -> bool {
        let Some(other) = (other as &dyn Any).downcast_ref::<Self>() else {
            return true;
        };
        match (self.plain_names(), other.plain_names()) {
            (Some(one), Some(other)) => one.iter().any(|name| other.contains(name)),
            _ => true,
        }
    }

    fn check(&self, subject: &Subject<'_>) -> Vec<Finding> {
        let Self { entry, contract } = self;
        let mut findings = wrong_answers(subject, entry, contract);
        findings.extend(unknown_tools(subject, entry));
        findings.extend(fixed_guards(subject, entry, contract));
        findings
    }
}

impl CheckedEntry {
    /// The tools that the hook is for, if its matcher is a plain list of names.
    fn plain_names(&self) -> Option<Vec<String>> {
        let matcher = self.entry.matcher.clone().filter(|matcher| *matcher != "*")?;
        let is_list = matcher
            .chars()
            .all(|letter| letter.is_alphanumeric() || "_-|".contains(letter));
        is_list.then(|| matcher.split('|').map(ToOwned::to_owned).collect())
    }
}

fn checked(entries: Vec<HookEntry>) -> Vec<Box<dyn CheckedHook>> {
    let contracts = all_contracts();
    let checked = entries.into_iter().filter_map(|entry| {
        let contract = contracts.iter().find(|contract| contract.name == entry.event);
        Some(CheckedEntry {
            contract: *contract?,
            entry,
        })
    });
    boxed(checked)
}

/// The files that hold hooks, and the hooks of the command line.
pub fn files(place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
    let config = place.section()?;
    let sources = Sources::find((&config, place.options), place.folders, place.surroundings)?;
    let of_settings = sources.settings.iter().map(|file| (file, FileKind::Settings));
    let drop_ins = sources.drop_ins.iter().map(|file| (file, FileKind::Hooks));
    let (named, agents) = (place.options.paths(HOOK_FILE), place.options.paths(AGENT_FILE));
    let named = named.iter().map(|file| (file, FileKind::Hooks));
    let agents = agents.iter().map(|file| (file, FileKind::Agents));
    let mut files = Vec::new();
    for (file, kind) in of_settings.chain(drop_ins).chain(named).chain(agents) {
        let text = read_regular(file, MOST_BYTES);
        let text =
            text.map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))?;
        let home = place.surroundings.variable("HOME");
        files.push(read((file, file), &text, kind, home.as_deref().map(Path::new)));
    }
    for flag in HookFlag::all() {
        let commands = place.options.texts(&flag.name).into_iter();
        files.extend(commands.map(|command| {
            let entry = flag.entry(&command);
            let file = PathBuf::from(&entry.source);
            HookFile::new(&file, "", Ok(checked(vec![entry])))
        }));
    }
    Ok(files)
}

/// Reads a file, if it is one of docker-agent's: hooks, settings or agents.
pub fn file(file: &NamedFile<'_>) -> Option<HookFile> {
    let text = file.text.as_deref()?;
    let kinds = ["type: command", "type: builtin", "type: model"];
    let holds_hooks = || {
        let has_agents = text.lines().any(|line| line.starts_with("agents:"));
        file.is_in("hooks.d") || has_agents || kinds.iter().any(|kind| text.contains(kind))
    };
    if !is_drop_in(file.shown) || !(file.is_named || holds_hooks()) {
        return None;
    }
    Some(match FileKind::of(text, &file.whole) {
        Ok(kind) => read((file.shown, &file.whole), text, kind, file.home.as_deref()),
        Err(error) => HookFile::new(file.shown, text, Err(error)),
    })
}

/// Reads a file of that kind, and finds all its mistakes. Paths in it are relative to its real location.
fn read((shown, whole): (&Path, &Path), text: &str, kind: FileKind, home: Option<&Path>) -> HookFile {
    let whole_file = HookFile::new(shown, text, Ok(Vec::new()));
    let read = |text: &str| {
        let mut found = HookFile::new(shown, text, Ok(Vec::new()));
        read_once(&mut found, (text, whole), kind, home).map(|()| found)
    };
    let (mistakes, found) = read_around_mistakes(text, Layout::Indentation, read);
    let mut found = HookFile {
        text: text.to_owned(),
        ..found.unwrap_or(whole_file)
    };
    mistakes.into_iter().for_each(|mistake| found.wrong(mistake));
    found
}

fn read_once(
    found: &mut HookFile,
    (text, whole): (&str, &Path),
    kind: FileKind,
    home: Option<&Path>,
) -> Result<(), SettingsError> {
    let rules = match kind {
        FileKind::Hooks => read_drop_in(text, whole).map(|hooks| {
            found.hooks = checked(hooks);
            Permissions::default()
        }),
        FileKind::Settings => PersonsSettings::read(text, whole).map(|settings| {
            found.hooks = checked(settings.hooks);
            settings.permissions
        }),
        FileKind::Agents => AgentFile::read(text, whole).map(|file| {
            take_agents(found, &file);
            file.permissions
        }),
    };
    rules.and_then(|rules| check_rules(&rules, whole, home))
}

fn take_agents(found: &mut HookFile, file: &AgentFile) {
    let hooks = file.agents.iter().flat_map(|agent| agent.hooks.clone());
    found.hooks = checked(hooks.collect());
    let kinds = file.agents.iter().flat_map(|agent| &agent.toolsets);
    let kinds: Vec<&ToolsetKind> = kinds.map(|set| &set.kind).collect();
    found.guests = kinds.iter().any(|kind| matches!(kind, ToolsetKind::Mcp(_)));
    for kind in kinds {
        if let ToolsetKind::OpenUrl { name, .. } = kind {
            found.tools.push(name.clone());
        }
        if let ToolsetKind::Script(scripts) = kind {
            found
                .tools
                .extend(scripts.iter().map(|script| script.name.clone()));
        }
    }
    let begin = format!("{}:", file.path.display());
    for remark in &file.remarks {
        let place = remark.strip_prefix(&begin).and_then(|rest| rest.split_once(": "));
        found.findings.push(Finding {
            file: found.file.clone(),
            line: place.and_then(|(line, _)| line.parse().ok()),
            kind: Kind::NoEffect,
            severity: Severity::Remark,
            message: place.map_or(remark.as_str(), |(_, message)| message).to_owned(),
            hint: None,
        });
    }
}

/// Checks that the rules of a file can be parsed.
fn check_rules(permissions: &Permissions, file: &Path, home: Option<&Path>) -> Result<(), SettingsError> {
    let rules = ForeignRules {
        file,
        home,
        profile: &profile(),
    };
    rules.add(Rules::default(), permissions).map(|_| ())
}

fn wrong_answers(subject: &Subject<'_>, hook: &HookEntry, contract: &Contract) -> Vec<Finding> {
    let event = contract.name;
    if let HookKind::Builtin(builtin) = &hook.kind {
        let adds = builtin.name().starts_with("add_") && !contract.context;
        return adds
            .then(|| subject.finding(Kind::MeaninglessField, idle_builtin(builtin, event)))
            .into_iter()
            .collect();
    }
    let heard = match subject.hook.start().script() {
        Some(script) => written::heard(script).join("\n"),
        None => return Vec::new(),
    };
    let fields = meaningless_fields(&heard, contract).into_iter();
    let mut findings: Vec<Finding> = fields
        .map(|field| {
            // The end of the name is the same in both spellings, except for its first letter.
            let last = field.rsplit('_').next().unwrap_or(field);
            Finding {
                line: subject.line_with(&last[1..]),
                hint: Some("the guide says at which events it counts".into()),
                ..subject.finding(
                    Kind::MeaninglessField,
                    format!("`{field}` means nothing in an answer to {event}"),
                )
            }
        })
        .collect();
    if findings.is_empty() {
        let answers = objects(&answers_of(subject)).into_iter();
        findings.extend(answers.flat_map(|(text, members)| {
            let troubles = troubles_of_answer(&text, contract).into_iter();
            let told = troubles.map(|trouble| wrong_answer(subject, &members, &trouble));
            told.collect::<Vec<_>>()
        }));
    }
    findings
}

fn idle_builtin(builtin: &Builtin, event: &str) -> String {
    format!(
        "`{}` adds words for the model, and {event} takes none",
        builtin.name()
    )
}

fn unknown_tools(subject: &Subject<'_>, hook: &HookEntry) -> Vec<Finding> {
    let Some(matcher) = hook.matcher.as_deref().filter(|matcher| *matcher != "*") else {
        return Vec::new();
    };
    let tools = &subject.machine.tools;
    let names = known_names(subject.file, tools);
    let unknown = alternatives(matcher).into_iter();
    let unknown = unknown.filter(|part| !matches_some(part, &names));
    let finding = |part: &str| {
        let near = meant_name(part, tools).or_else(|| nearest(part, names.iter().map(String::as_str)));
        Finding {
            line: subject.line_before(matcher),
            severity: match subject.file.guests && near.is_none_or(|near| part.starts_with(near)) {
                true => Severity::Remark,
                false => Severity::Wrong,
            },
            hint: match near {
                Some(near) => Some(format!("did you mean `{near}`?")),
                None => subject.file.guests.then(|| GUESTS.to_owned()),
            },
            ..subject.finding(Kind::UnknownTool, format!("no tool has a name like `{part}`"))
        }
    };
    unknown.map(finding).collect()
}

/// docker-agent's name for the tool that some other system knows by that name.
fn meant_name(name: &str, tools: &ToolNames) -> Option<&'static str> {
    let own = || tools.own.iter().copied().find(|tool| *tool == name);
    let meant = tools.meant(name).or_else(own)?;
    let mut faces = profile().faces.into_iter();
    let face = faces.find(|face| face.operation.name() == meant);
    face.map(|face| face.name)
}

/// The names that docker-agent's matchers see: its own, becket's if it has none, and those of the file's scripts.
fn known_names(file: &HookFile, tools: &ToolNames) -> Vec<String> {
    let absent = profile().absent;
    let absent = absent.iter().map(|operation| operation.name());
    let all = tool_names()
        .into_iter()
        .chain(absent)
        .chain(tools.without_operation.iter().copied());
    all.map(ToOwned::to_owned)
        .chain(file.tools.iter().cloned())
        .collect()
}

/// The alternatives of a matcher that is a plain list of names; otherwise the whole matcher.
fn alternatives(matcher: &str) -> Vec<&str> {
    if matcher.contains(['(', '[', '{', '\\']) {
        vec![matcher]
    } else {
        matcher.split('|').collect()
    }
}

fn matches_some(expression: &str, names: &[String]) -> bool {
    // A pattern that cannot be parsed was reported when the file was read.
    Pattern::regex(expression).is_ok_and(|pattern| names.iter().any(|name| pattern.matches(name)))
}

/// Findings about guards whose file loosens failures, although a failure always refuses.
fn fixed_guards(subject: &Subject<'_>, hook: &HookEntry, contract: &Contract) -> Vec<Finding> {
    let loosens = matches!(hook.on_error, Some(OnError::Warn | OnError::Ignore));
    if contract.class != Class::Guard || !loosens {
        return Vec::new();
    }
    let name = contract.name;
    vec![Finding {
        line: subject.line_with("on_error"),
        hint: Some("leave it out".into()),
        ..subject.finding(
            Kind::FixedGuard,
            format!("`on_error` cannot loosen a guard: a hook of {name} that fails refuses the call"),
        )
    }]
}
