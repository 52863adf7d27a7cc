//! Files with hooks as guests of a run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use becket_agent::Rules;
use becket_agent::url_policy::UrlJudge;
use becket_check::{HookFile, NamedFile};
use becket_events::Class;
use becket_hooks::{CommandLane, CommandLine, HookEnvironment, Program, Section};
use becket_host::{
    Bridge, DeclaredServers, DialectSettings, Found, FoundGuest, GuestSearch, Guests, Host, HostOption,
    KnownCommand, Listed, Loading, NoGuests, OptionValue, Reach, Report, RuleReading, ServerCalls,
    ServerDeclaration, Stage, Unloaded, unknown_server,
};
use becket_system::CliError;
use becket_system::files::read_regular;
use becket_tools::Preset;
use becket_trust::{CommandItem, Item, Judged, Kind, Trust, refusal};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::check::{checked, finding};
use crate::entry::{Action, Dropped, HookEntry, Owner, Reading, Source};
use crate::expansion::{expanded, replaced};
use crate::facts::Facts;
use crate::found_text::{FoundText, bring_texts, found_text};
use crate::guest_text::{TextKind, TextsInUse};
use crate::late::Late;
use crate::rules::{ForeignRule, RuleLists};
use crate::servers::used_servers;
use crate::system::{Contract, HookRow, LoadedHook, Running, System};
use crate::text::{is_markdown, value_of};
use crate::transcript::Transcripts;

/// The largest file that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// Finds the hooks of a system.
pub struct FileHost(pub &'static System);

impl Host for FileHost {
    fn kind(&self) -> &'static str {
        "hook"
    }

    fn dialect(&self) -> Option<&'static str> {
        Some(self.0.dialect.name)
    }

    fn options(&self) -> Vec<HostOption> {
        let title = self.0.title;
        vec![HostOption {
            name: option_name(self.0).into(),
            value: OptionValue::Path("FILE"),
            help: format!("Load hooks of {title} from this file, and trust them; may be given several times")
                .into(),
            heading: Some("Hooks of other agents"),
            is_rare: true,
            ..HostOption::default()
        }]
    }

    fn bridge(&self) -> Option<&'static Bridge> {
        Some(self.0.bridge)
    }

    fn sections(&self) -> &'static [Section] {
        const { &[Section::of::<DialectSettings>()] }
    }

    fn hidden_folders(&self) -> &'static [&'static str] {
        self.0.folders
    }

    fn has_tool(&self, name: &str) -> bool {
        (self.0.profile)().operation_of(name).is_some()
    }

    fn check_files(&self, place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
        let settings: DialectSettings = place.section()?;
        let reach = settings.reach(self.0.dialect.name);
        let sources = sources(self.0, place, reach)?;
        let missing = missing(self.0, place, reach);
        let facts = facts_of(self.0, place);
        let files = sources.into_iter().map(|source| {
            let text = match text_of(&source.file) {
                Err(_) if is_markdown(&source.file) => None,
                text => text?,
            };
            let text = text.unwrap_or_default();
            let shown = source.file.clone();
            let of_file = missing.iter().filter(|dropped| dropped.source.file == shown);
            let mut file = checked(self.0, &shown, (source, &facts), &text);
            let findings = of_file.map(|dropped| finding(&shown, &text, dropped));
            file.findings.extend(findings);
            Ok(file)
        });
        files.collect()
    }

    fn certainty(&self, file: &NamedFile<'_>) -> u32 {
        certainty(self.0, file).unwrap_or_default()
    }

    fn check_file(&self, file: &NamedFile<'_>) -> Option<HookFile> {
        let text = file.text.as_deref()?;
        if !(self.0.is_file)(&file.whole) && self.certainty(file) == 0 {
            return None;
        }
        let source = Source {
            file: file.whole.clone(),
            owner: Owner::Project,
            plugin: plugin_of(&file.whole).map(|root| root.to_path_buf().into()),
        };
        let facts = Facts::beside(&file.whole, self.0.folders);
        Some(checked(self.0, file.shown, (source, &facts), text))
    }

    fn find(&self, place: &GuestSearch<'_>) -> Result<Box<dyn Found>, CliError> {
        let settings: DialectSettings = place.section()?;
        let reach = settings.reach(self.0.dialect.name);
        let sources = sources(self.0, place, reach)?;
        let (mut reading, mut rules, facts) = (Reading::default(), Vec::new(), facts_of(self.0, place));
        reading.dropped = missing(self.0, place, reach);
        let mut texts = Vec::new();
        for source in sources {
            if is_markdown(&source.file) {
                // What cannot be read is not used, whatever it is.
                if let Ok(Some(text)) = text_of(&source.file) {
                    let value = value_in(self.0, &source.file, &text);
                    texts.extend(found_text(self.0, source, (&text, value), &mut reading));
                }
                continue;
            }
            let Some(value) = value_of_source(self.0, &source)? else {
                continue;
            };
            let read = (self.0.rules)(&value, &source, &facts);
            rules.push((
                source.clone(),
                read.map_err(|why| CliError::usage(format!("{}: {why}", source.file.display())))?,
            ));
            (self.0.read)(&value, &Arc::new(source), &mut reading);
        }
        if self.0.joins_folders {
            reading.join_folders(|source| (self.0.variables)(source, &facts));
        }
        (self.0.settle)(&mut reading, place);
        // Whoever asks becket would make becket ask itself.
        reading.entries.retain(|entry| !entry.asks_becket());
        let mut found = FoundFiles::new(self.0, place, reading, settings.strict);
        found.add_lists(rules, place.trust);
        found.add_texts(texts, place.trust);
        Ok(Box::new(found))
    }
}

/// The folder of the plugin whose hooks stand in a file. A hidden folder with such a file is a system's own.
fn plugin_of(file: &Path) -> Option<&Path> {
    let root = file.parent().and_then(Path::parent)?;
    let is_hidden = root
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    (file.ends_with("hooks/hooks.json") && !is_hidden).then_some(root)
}

/// How surely a plugin's file with hooks is one of a system's: its folder has the system's manifest, and the system
/// knows the events in it. A file without an event of the system is none of its files.
fn certainty(system: &System, file: &NamedFile<'_>) -> Option<u32> {
    let root = plugin_of(&file.whole)?;
    let value = value_of(&file.whole, file.text.as_deref()?, system.json).ok()?;
    let events = value.get("hooks")?.as_object()?;
    let rows = (system.rows)();
    let known = |event: &&String| rows.iter().any(|row| row.contract().name == event.as_str());
    let share = events.keys().filter(known).count() * 50 / events.len().max(1);
    let is_marked = system
        .manifest
        .is_some_and(|name| becket_fs::is_file(root.join(name)));
    let is_named = (system.is_file)(&file.whole);
    let sum = usize::from(is_marked) * 100 + share + usize::from(is_named);
    (share > 0).then_some(sum as u32)
}

/// The option of the command line that names files of a system.
fn option_name(system: &System) -> String {
    format!("{}-hooks", system.dialect.name)
}

/// The files that the command line names. They count like a project's, and are trusted.
fn given_files(system: &System, place: &GuestSearch<'_>) -> Vec<PathBuf> {
    let given = place.options.paths(&option_name(system)).into_iter();
    given.map(|file| place.surroundings.cwd.join(file)).collect()
}

/// The files that count.
fn sources(system: &System, place: &GuestSearch<'_>, reach: Reach) -> Result<Vec<Source>, CliError> {
    let given = given_files(system, place);
    if let Some(gone) = given.iter().find(|file| !becket_fs::is_file(file)) {
        return Err(CliError::usage(format!("there is no file {}", gone.display())));
    }
    let mut sources = (system.sources)(place)?;
    sources.retain(|source| !given.contains(&source.file) && is_reached(source.owner, reach));
    sources.extend(given.into_iter().map(|file| Source {
        plugin: plugin_of(&file).map(|root| root.to_path_buf().into()),
        owner: Owner::Project,
        file,
    }));
    Ok(sources)
}

/// What is not there and counts.
fn missing(system: &System, place: &GuestSearch<'_>, reach: Reach) -> Vec<Dropped> {
    let mut missing = (system.missing)(place);
    missing.retain(|dropped| is_reached(dropped.source.owner, reach));
    missing
}

/// Whether files of this owner count.
fn is_reached(owner: Owner, reach: Reach) -> bool {
    match owner {
        Owner::Machine => true,
        Owner::Project => reach >= Reach::Project,
        Owner::User => reach == Reach::All,
    }
}

/// The facts about a run. If the command line names files of projects, their project is that of the first one, because
/// its hooks name scripts that lie there. Hooks of a plugin work where the agent does.
fn facts_of(system: &System, place: &GuestSearch<'_>) -> Facts {
    let mut facts = Facts::of(place);
    let given = given_files(system, place);
    if let Some(file) = given.iter().find(|file| plugin_of(file).is_none()) {
        let own = Facts::beside(file, system.folders).project_root;
        facts.project_root = becket_fs::canonicalize(&own).unwrap_or(own);
        facts.hooks_directory = Some(facts.project_root.clone());
    }
    facts
}

/// The content of a file; `None` if there is none. What cannot be read may hold guards, and ends the run.
fn value_of_source(system: &System, source: &Source) -> Result<Option<Value>, CliError> {
    let text = text_of(&source.file)?;
    text.map(|text| value_in(system, &source.file, &text)).transpose()
}

fn value_in(system: &System, file: &Path, text: &str) -> Result<Value, CliError> {
    value_of(file, text, system.json).map_err(|error| {
        let message = format!("cannot read {}: {}", error.file.display(), error.message);
        let off = format!("or set `{} = \"off\"` in [dialects]", system.dialect.name);
        CliError::usage(message).hint(format!("repair it, because it may contain guards, {off}"))
    })
}

/// The text of a file; `None` if there is none.
fn text_of(file: &Path) -> Result<Option<String>, CliError> {
    match read_regular(file, MOST_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(CliError::usage(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}

/// The hooks that were found.
struct FoundFiles {
    system: &'static System,
    facts: Facts,
    strict: bool,
    /// Each hook; those of the project by their place among what was judged.
    hooks: Vec<(HookEntry, Option<usize>)>,
    judged: Vec<Judged>,
    dropped: Vec<Dropped>,
    /// Names of entries that are no hooks, and that the user leaves out.
    left_out: Vec<String>,
    refusal: Option<CliError>,
    allowed_urls: Option<Vec<String>>,
    /// The servers of the system's own files that hooks call.
    servers: Vec<ServerDeclaration>,
    /// The permission rules that count.
    rules: Vec<RuleLists>,
    /// Agents, skills and commands that are used.
    texts: Vec<FoundText>,
    /// How many of the project's are not, because they are not trusted.
    untrusted_texts: usize,
}

impl FoundFiles {
    /// Takes the rules of files. What a project denies or asks about counts at once, since it only restricts; what it
    /// allows needs trust.
    fn add_lists(&mut self, lists: Vec<(Source, RuleLists)>, trust: &Trust) {
        for (source, mut lists) in lists {
            if source.owner == Owner::Project && !lists.allow.is_empty() {
                let texts: Vec<&str> = lists.allow.iter().map(|rule| rule.text.as_str()).collect();
                let files = trust.gatherer(trust.root());
                let item = trust.item(Kind::Rules, "permissions", &source.file, texts.join("\n"), files);
                let judged = trust.judge(item);
                if !judged.is_trusted() {
                    lists.allow.clear();
                }
                self.judged.push(judged);
            }
            self.rules.push(lists);
        }
    }

    fn new(system: &'static System, place: &GuestSearch<'_>, reading: Reading, strict: bool) -> Self {
        let (facts, given) = (facts_of(system, place), given_files(system, place));
        let contracts: Vec<Contract> = (system.rows)().iter().map(|row| row.contract()).collect();
        let allowed_urls = reading.allowed_urls.clone();
        let (entries, dropped) = reading.counting();
        let is_left_out = |dropped: &Dropped| place.without.contains(&dropped.name());
        let (left_out, dropped): (Vec<_>, Vec<_>) = dropped.into_iter().partition(is_left_out);
        let guards = |entry: HookEntry| {
            let contract = contracts.iter().find(|contract| contract.name == entry.event);
            let guards = contract.is_some_and(|contract| contract.class >= Class::Filter);
            (entry, guards)
        };
        let mut entries: Vec<(HookEntry, bool)> = entries.into_iter().map(guards).collect();
        let (mut hooks, mut judged) = (Vec::new(), Vec::new());
        let servers = used_servers(system, place, &mut entries, &mut judged);
        for (mut entry, guards) in entries {
            entry.env.extend((system.variables)(&entry.source, &facts));
            prepare(&mut entry, (system.shell)(&facts));
            let is_of_project = entry.source.owner == Owner::Project && !given.contains(&entry.source.file);
            let at = is_of_project.then(|| {
                let directory = (system.directory)(&entry, &facts);
                // An agent whose hooks are not trusted is not there, so that nothing goes unguarded without them.
                let guards = guards && entry.while_used.is_none();
                judged.push(judge(place.trust, &entry, directory.as_deref(), guards));
                judged.len() - 1
            });
            hooks.push((entry, at));
        }
        let is_ours = |source: &Path, _: &Path| (system.is_file)(source);
        let gone = place.trust.absences(&judged, &[Kind::Hook], is_ours);
        judged.extend(gone);
        Self {
            system,
            facts,
            strict,
            refusal: refusal(&judged, place.trust),
            hooks,
            judged,
            dropped,
            left_out: left_out.iter().map(Dropped::name).collect(),
            allowed_urls,
            servers,
            rules: Vec::new(),
            texts: Vec::new(),
            untrusted_texts: 0,
        }
    }

    /// Takes agents, skills and commands. The project's are used once all of them and their hooks are trusted.
    fn add_texts(&mut self, texts: Vec<FoundText>, trust: &Trust) {
        let is_of_project = |found: &FoundText| found.source.owner == Owner::Project;
        let (project, mut used): (Vec<_>, Vec<_>) = texts.into_iter().partition(is_of_project);
        if let Some(first) = project.first() {
            let mut files = trust.gatherer(trust.root());
            project.iter().for_each(|found| files.plain(&found.source.file));
            let name = format!("agents, skills and commands for {}", self.system.title);
            let judged =
                trust.judge(trust.item(Kind::Resources, &name, &first.source.file, String::new(), files));
            let is_trusted = judged.is_trusted();
            self.judged.push(judged);
            let has_untrusted_hook = |found: &FoundText| {
                let mut hooks = self.hooks.iter();
                hooks.any(|(entry, at)| entry.source.file == found.source.file && !self.is_trusted(*at))
            };
            let all = project.len();
            let trusted = project.into_iter();
            let trusted = trusted.filter(|found| is_trusted && !has_untrusted_hook(found));
            let trusted: Vec<FoundText> = trusted.collect();
            self.untrusted_texts = all - trusted.len();
            used.extend(trusted);
        }
        let is_used = |entry: &HookEntry| used.iter().any(|found| found.source.file == entry.source.file);
        self.hooks
            .retain(|(entry, _)| entry.while_used.is_none() || is_used(entry));
        self.texts = used;
    }

    fn is_trusted(&self, at: Option<usize>) -> bool {
        at.is_none_or(|at| self.judged[at].is_trusted())
    }
}

/// Makes words of a hook's command: paths of a program, or the system's own shell in front of a line.
fn prepare(entry: &mut HookEntry, shell: Option<Vec<String>>) {
    match (&mut entry.action, shell) {
        (Action::Command(CommandLine::Exec(words)), _) => {
            words
                .iter_mut()
                .for_each(|word| *word = replaced(word, &entry.env));
        }
        (Action::Command(command @ CommandLine::Shell(_)), Some(mut words)) => {
            if let CommandLine::Shell(line) = command {
                words.push(std::mem::take(line));
            }
            *command = CommandLine::Exec(words);
        }
        _ => {}
    }
}

/// A command as text, without the shell that its system puts in front of a line, and with variables replaced.
fn command_text(command: &CommandLine, entry: &HookEntry, shell: Option<Vec<String>>) -> String {
    let text = match (command, shell) {
        (CommandLine::Shell(line), _) => line.clone(),
        (CommandLine::Exec(words), Some(shell)) if words.starts_with(&shell) => {
            words[shell.len()..].join(" ")
        }
        (CommandLine::Exec(words), _) => format!("{words:?}"),
    };
    expanded(text.trim(), &entry.env)
}

/// Judges a hook of the project, which runs in a directory.
fn judge(trust: &Trust, entry: &HookEntry, directory: Option<&Path>, guards: bool) -> Judged {
    let file = entry.source.file.as_path();
    match &entry.action {
        Action::Command(command) => trust.command(&CommandItem {
            file,
            name: &entry.name,
            entry: entry.written.clone(),
            command,
            directory: directory.unwrap_or(trust.root()),
            folder: trust.root(),
            env: &entry.env,
            guards,
        }),
        _ => {
            let files = trust.gatherer(trust.root());
            let item = trust.item(Kind::Hook, &entry.name, file, entry.written.clone(), files);
            trust.judge(Item { guards, ..item })
        }
    }
}

impl Found for FoundFiles {
    fn guests(&self) -> Vec<FoundGuest> {
        let hooks = self.hooks.iter();
        hooks
            .map(|(entry, at)| FoundGuest {
                name: entry.name.clone(),
                file: entry.source.file.clone(),
                is_trusted: self.is_trusted(*at),
            })
            .collect()
    }

    fn may_load(&self) -> bool {
        !self.hooks.is_empty() || !self.dropped.is_empty() || !self.texts.is_empty()
    }

    fn judged(&self) -> &[Judged] {
        &self.judged
    }

    fn refusal(&self) -> Option<CliError> {
        self.refusal.clone()
    }

    fn remarks(&self) -> Vec<String> {
        let dropped = self.dropped.iter().filter(|dropped| !dropped.guards);
        let dropped = dropped.map(|dropped| format!("{}: {}", dropped.place(), dropped.reason));
        let untrusted = self.hooks.iter().filter(|(_, at)| !self.is_trusted(*at)).count();
        let skipped = (untrusted > 0 && self.refusal.is_none()).then(|| {
            format!(
                "{untrusted} of this project's hooks for {} are not trusted and were skipped; --trust uses them for \
                 this run, `becket hooks trust` from now on",
                self.system.title
            )
        });
        let texts = (self.untrusted_texts > 0).then(|| {
            format!(
                "{} of this project's agents, skills and commands for {} are not trusted and were skipped",
                self.untrusted_texts, self.system.title
            )
        });
        let rules = self.rules.iter().flat_map(|lists| lists.remarks.clone());
        dropped.chain(skipped).chain(texts).chain(rules).collect()
    }

    fn left_out(&self) -> Vec<String> {
        self.left_out.clone()
    }

    fn servers(&self, _: &GuestSearch<'_>) -> DeclaredServers {
        DeclaredServers {
            servers: self.servers.clone(),
            only_these: false,
        }
    }

    fn add_rules(&self, rules: Rules, reading: &RuleReading<'_>) -> Result<Rules, CliError> {
        let named = |list: &[ForeignRule]| {
            let rules = list.iter().flat_map(|rule| rule.named(reading.profile));
            rules.collect::<Vec<_>>()
        };
        let rules = rules.at_home(self.facts.home.as_deref());
        Ok(self.rules.iter().fold(rules, |rules, lists| {
            rules
                .and(named(&lists.deny), named(&lists.allow), Vec::new())
                .asking_first(named(&lists.ask))
        }))
    }

    fn load<'a>(&'a self, loading: &'a Loading<'a>) -> BoxFuture<'a, Result<Arc<dyn Guests>, CliError>> {
        Box::pin(async move {
            let (mut hooks, mut unloaded) = (Vec::new(), Vec::new());
            let rows = (self.system.rows)();
            for (entry, at) in self.hooks.iter().filter(|(_, at)| self.is_trusted(*at)) {
                let contract = rows.iter().map(|row| row.contract());
                let contract = contract.into_iter().find(|row| row.name == entry.event);
                let class = contract.map_or(Class::Observe, |contract| contract.class);
                let judged = at.map(|at| &self.judged[at]);
                match lane(entry, class, judged, loading) {
                    Ok(lane) => hooks.push((entry.clone(), lane)),
                    Err(why) => unloaded.push(Unloaded::new("hook", &entry.name, &entry.source.file, why)),
                }
            }
            let guards = self.dropped.iter().filter(|dropped| dropped.guards);
            unloaded.extend(
                guards.map(|dropped| {
                    Unloaded::new("hook", dropped.name(), &dropped.source.file, &dropped.reason)
                }),
            );
            if hooks.is_empty() && unloaded.is_empty() && self.texts.is_empty() {
                return Ok(Arc::new(NoGuests) as Arc<dyn Guests>);
            }
            Ok(Arc::new(FileHooks {
                system: self.system,
                facts: self.facts.clone(),
                strict: self.strict,
                hooks,
                unloaded: Mutex::new(unloaded),
                skipped: Mutex::default(),
                late: Arc::default(),
                urls: loading.urls.clone(),
                allowed_urls: self.allowed_urls.clone(),
                environment: HookEnvironment::clone(loading.environment),
                texts: match loading.has_agent_file {
                    true => Vec::new(),
                    false => self.texts.clone(),
                },
            }) as Arc<dyn Guests>)
        })
    }
}

/// The program of a hook, if it is one. The error says why it cannot run.
fn lane(
    entry: &HookEntry,
    class: Class,
    judged: Option<&Judged>,
    loading: &Loading<'_>,
) -> Result<Option<Arc<CommandLane>>, String> {
    let Action::Command(command) = &entry.action else {
        return Ok(None);
    };
    let environment: &HookEnvironment = loading.environment;
    let program = match judged {
        Some(judged) => loading
            .place
            .trust
            .program(judged, command, &entry.env, environment)?,
        None => {
            let program = match command {
                CommandLine::Shell(line) => Program::shell(line),
                CommandLine::Exec(words) => Program::exec(words),
            };
            let program = match class >= Class::Filter {
                true => program.for_guard(),
                false => program,
            };
            let program = program.environment(Arc::clone(&environment.variables));
            let variables = entry.env.iter();
            variables.fold(program, |program, (name, value)| program.variable(name, value))
        }
    };
    Ok(Some(Arc::new(
        CommandLane::new(program).timeout_setting("timeout"),
    )))
}

/// The hooks of a run.
struct FileHooks {
    system: &'static System,
    facts: Facts,
    strict: bool,
    hooks: Vec<(HookEntry, Option<Arc<CommandLane>>)>,
    unloaded: Mutex<Vec<Unloaded>>,
    /// Hooks that do not run because one of another system does the same.
    skipped: Mutex<Vec<Listed>>,
    late: Arc<Late>,
    urls: UrlJudge,
    allowed_urls: Option<Vec<String>>,
    environment: HookEnvironment,
    texts: Vec<FoundText>,
}

impl FileHooks {
    fn skipped(&self) -> std::sync::MutexGuard<'_, Vec<Listed>> {
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A hook for a comparison with those of other systems, if it runs a command and would always do the same.
    fn known(&self, entry: &HookEntry, contract: &Contract) -> Option<KnownCommand> {
        let Action::Command(command) = &entry.action else {
            return None;
        };
        let would_always = !entry.once && entry.background.is_none();
        let is_plain = entry.condition.is_none() && entry.while_used.is_none() && entry.matchers.is_empty();
        let guards = contract.class >= Class::Filter;
        let facts = &self.facts;
        let directory = (self.system.directory)(entry, facts).or_else(|| facts.hooks_directory.clone());
        let directory = directory.unwrap_or_else(|| facts.cwd.clone());
        let directory = becket_fs::canonicalize(&directory).unwrap_or(directory);
        // Variables that the file sets may change what the command does; those of the system always differ.
        let of_system = (self.system.variables)(&entry.source, facts);
        let mut set = entry.env.clone();
        set.retain(|name, value| of_system.get(name) != Some(value));
        would_always.then(|| KnownCommand {
            event: contract.event,
            command: format!(
                "{}\n{directory:?}\n{set:?}",
                command_text(command, entry, (self.system.shell)(facts))
            ),
            class: contract.class,
            is_always_asked: is_plain && contract.is_always,
            is_stricter: entry.refuses_on_failure || (guards && (self.strict || self.system.errors_refuse)),
            dialect: self.system.dialect.name,
            place: entry.place(),
        })
    }

    /// A line for listings about a hook that is not registered, because one of another system does the same.
    fn listed_as_same(&self, entry: &HookEntry, contract: &Contract, place: &str) -> Listed {
        let (event, dialect) = (contract.event.info().name, self.system.dialect.name);
        Listed {
            text: format!(
                "{event:<22} {dialect:<12} {} as {}  ({})  runs once, as {place}",
                entry.name,
                contract.name,
                entry.place()
            ),
            json: json!({
                "event": event, "kind": "hook", "dialect": dialect, "name": entry.name,
                "known_as": contract.name, "source": entry.place(), "same_as": place,
            }),
        }
    }

    /// Remarks about hooks that call a server that there is not.
    fn without_servers(&self, servers: &dyn ServerCalls) -> Vec<String> {
        let hooks = self.hooks.iter();
        let remarks = hooks.filter_map(|(entry, _)| match &entry.action {
            Action::ServerTool { server, .. } if !servers.knows(server) => {
                Some(format!("{}: {}", entry.place(), unknown_server(server)))
            }
            _ => None,
        });
        remarks.collect()
    }

    /// The agents, those that win over others of the same name first: the machine's, the project's, nearest to the
    /// working directory first, the user's, and those of plugins.
    fn agents(&self) -> Vec<(&FoundText, &Preset)> {
        let agents = self
            .texts
            .iter()
            .rev()
            .filter_map(|found| match &found.text.kind {
                TextKind::Agent(preset) => Some((found, &**preset)),
                _ => None,
            });
        let mut agents: Vec<_> = agents.collect();
        agents.sort_by_key(|(found, _)| match (found.source.owner, &found.source.plugin) {
            (Owner::Machine, _) => 0,
            (Owner::Project, _) => 1,
            (Owner::User, None) => 2,
            (Owner::User, Some(_)) => 3,
        });
        agents
    }

    /// Remarks about agents in whose place others of the same name are used.
    fn replaced_agents(&self) -> Vec<String> {
        let agents = self.agents();
        let place = |found: &FoundText| found.source.file.display().to_string();
        let replaced = agents.iter().enumerate().filter_map(|(at, (found, _))| {
            let mut before = agents[..at].iter();
            let (used, _) = before.find(|(used, _)| used.text.name == found.text.name)?;
            Some(format!(
                "{}: the agent `{}` is not used, because there is one of that name in {}",
                place(found),
                found.text.name,
                place(used)
            ))
        });
        replaced.collect()
    }

    /// What the hooks need while they run.
    fn running(&self, stage: &Stage<'_>, texts: Arc<TextsInUse>, transcripts: Arc<Transcripts>) -> Running {
        Running {
            system: self.system,
            facts: self.facts.clone(),
            strict: self.strict,
            transcripts,
            late: Arc::clone(&self.late),
            texts,
            models: Arc::clone(stage.models),
            servers: Arc::clone(stage.servers),
            reader: Arc::clone(stage.reader),
            person: stage.person.clone(),
            chat: stage.chat.cloned(),
            urls: self.urls.clone(),
            allowed_urls: self.allowed_urls.clone(),
            environment: self.environment.clone(),
            awaits_prompts: stage.awaits_prompts,
            env_files: Arc::default(),
            session_env: Mutex::default(),
        }
    }

    fn unread(&self) -> std::sync::MutexGuard<'_, Vec<Unloaded>> {
        self.unloaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guests for FileHooks {
    fn unloaded(&self) -> Vec<Unloaded> {
        self.unread().clone()
    }

    fn leave_out(&self, name: &str) {
        self.unread().retain(|unloaded| unloaded.name != name);
    }

    fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        bring_texts(stage.engine, &self.texts);
        let mut remarks = self.replaced_agents();
        if self.hooks.is_empty() {
            return Ok(remarks);
        }
        let texts = Arc::new(TextsInUse::new(self.facts.clone()));
        texts.register(stage.engine, self.hooks.iter().map(|(entry, _)| entry));
        self.facts.prompts.register(stage.engine);
        let reads_request = |entry: &HookEntry| self.system.shows_request.contains(&entry.event);
        if self.hooks.iter().any(|(entry, _)| reads_request(entry)) {
            self.facts.requests.register(stage.engine);
        }
        let transcripts = Arc::new(Transcripts::new(
            self.facts.clone(),
            ((self.system.profile)(), self.system.show_call),
            stage,
        ));
        transcripts.register(stage.engine);
        let rows: Vec<Box<dyn HookRow>> = (self.system.rows)();
        let later = |entry: &HookEntry| {
            let mut contracts = rows.iter().map(|row| row.contract());
            contracts.any(|contract| contract.context_later && contract.name == entry.event)
        };
        // A program may go into the background by its own words.
        let may_leave =
            |entry: &HookEntry| self.system.leaves.is_some() && matches!(entry.action, Action::Command(_));
        let is_late = |entry: &HookEntry| entry.background.is_some() || may_leave(entry) || later(entry);
        if self.hooks.iter().any(|(entry, _)| is_late(entry)) {
            self.late.register(stage.engine, &stage.person.front);
        }
        let running = Arc::new(self.running(stage, texts, transcripts));
        let gets_file = |entry: &HookEntry| {
            let events = self.system.env_file.map_or(&[][..], |file| file.events);
            events.contains(&entry.event)
        };
        if self.hooks.iter().any(|(entry, _)| gets_file(entry)) {
            running.env_files.register(stage.engine, &self.environment);
        }
        remarks.extend(self.without_servers(&**stage.servers));
        for (place, (entry, lane)) in self.hooks.iter().enumerate() {
            for row in rows.iter().filter(|row| row.contract().name == entry.event) {
                let contract = row.contract();
                let hook = LoadedHook {
                    place,
                    entry: entry.clone(),
                    lane: lane.clone(),
                    known: self.known(entry, &contract),
                };
                let registered = row.register(stage.engine, hook, &running, stage.commands);
                remarks.extend(registered.remarks);
                let same = registered
                    .same
                    .map(|same| self.listed_as_same(entry, &contract, &same));
                self.skipped().extend(same);
            }
        }
        Ok(remarks)
    }

    fn presets(&self) -> Vec<(String, Preset)> {
        let agents = self.agents().into_iter();
        agents
            .map(|(found, preset)| (found.text.name.clone(), preset.clone()))
            .collect()
    }

    fn listed(&self) -> Vec<Listed> {
        self.skipped().clone()
    }

    fn reports(&self) -> Vec<Report> {
        let hooks = self.hooks.iter();
        let reports = hooks.map(|(entry, _)| {
            let what = format!("hook {} of {} ({})", entry.name, self.system.title, entry.place());
            let trouble = match &entry.action {
                Action::Unable(why) => Some(why.clone()),
                _ => None,
            };
            Report::new(what, trouble)
        });
        reports.collect()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.late.close())
    }
}
