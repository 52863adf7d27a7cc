//! `becket doctor`: looks for what may be wrong.

use std::sync::{Arc, Mutex};

use becket_agent::front::{Front, PersonsAnswer, Question, Sight};
use becket_chibi::{Asking, hook_named};
use becket_dialect_kit::Unloaded;
use becket_events::Profile;
use becket_hooks::Engine;
use becket_system::signals::unless_cancelled;
use becket_system::{CliError, Exit, Folders, Surroundings};
use futures_util::future::BoxFuture;

use super::{print, runtime};
use crate::args::Options;
use crate::assemble::{Loaded, Setup};
use crate::front::harmless;
use crate::servers::RunServers;
use crate::target::Wish;
use becket_chibi::{NotOffered, generation_word};
use becket_pi::extensions::Extensions;

/// One thing that was looked at.
struct Finding {
    what: String,
    state: State,
}

/// What became of looking at it.
enum State {
    Well,
    /// Nothing is wrong, but the person should know.
    Note(String),
    Wrong(String),
}

/// Looks at configuration, model, store, hooks, plugins, servers and extensions. Ends with 1 if something is wrong.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let mut findings = Vec::new();
    match Setup::read(options, surroundings) {
        Ok(mut setup) => examine(&mut setup, options, surroundings, &mut findings)?,
        Err(error) => {
            let folders = Folders::find(options.home.as_deref(), surroundings)?;
            findings.push(finding(
                format!("settings in {}", folders.config.display()),
                Some(error.to_string()),
            ));
        }
    }
    let ill = findings
        .iter()
        .any(|finding| matches!(finding.state, State::Wrong(_)));
    for Finding { what, state } in findings {
        let line = if options.json {
            let (note, trouble) = match state {
                State::Well => (None, None),
                State::Note(note) => (Some(note), None),
                State::Wrong(trouble) => (None, Some(trouble)),
            };
            serde_json::json!({"what": what, "ok": trouble.is_none(), "note": note, "trouble": trouble})
                .to_string()
        } else {
            harmless(&match state {
                State::Well => format!("ok    {what}"),
                State::Note(note) => format!("note  {what}: {note}"),
                State::Wrong(trouble) => format!("wrong {what}: {trouble}"),
            })
        };
        print(&format!("{line}\n"))?;
    }
    Ok(if ill { Exit::Failed } else { Exit::Answered })
}

/// The error says that the person cancelled; everything else is a finding.
fn examine(
    setup: &mut Setup,
    options: &Options,
    surroundings: &Surroundings,
    findings: &mut Vec<Finding>,
) -> Result<(), CliError> {
    let file = setup.folders.config_file();
    let state = if file.exists() {
        ""
    } else {
        " (not there, the usual settings apply)"
    };
    findings.push(finding(format!("settings in {}{state}", file.display()), None));
    findings.extend(examine_context(setup, options, surroundings));
    findings.push(match setup.provider(options, surroundings) {
        Ok(provider) => finding(format!("model {}/{}", provider.name(), provider.model()), None),
        Err(error) => finding("model".into(), Some(error.to_string())),
    });
    let store = setup.folders.store_file();
    let trouble = setup
        .folders
        .open_store()
        .map_err(|error| error.to_string())
        .and_then(|store| match store.integrity_check() {
            Ok(faults) if faults.is_empty() => Ok(()),
            Ok(faults) => Err(faults.join("; ")),
            Err(error) => Err(error.to_string()),
        });
    findings.push(finding(format!("store {}", store.display()), trouble.err()));
    for hook in &setup.hooks {
        let info = &hook.info;
        let what = format!(
            "hook {} on {} ({})",
            info.name,
            hook.event.info().name,
            info.source
        );
        let trouble = hook
            .trouble(setup.hook_environment(surroundings), &surroundings.cwd)
            .map(|failure| failure.to_string());
        let loosened = hook
            .loosened
            .then(|| "this guard may fail open: on_failure is allow".to_string());
        findings.push(finding(what, trouble.or(loosened)));
    }
    let project = &setup.project;
    let refusal = project.refusal.iter().map(ToString::to_string);
    let skipped = project.skipped.iter().chain(&setup.prompt_files.skipped);
    for trouble in refusal.chain(skipped.cloned()) {
        findings.push(finding(
            format!("project {}", setup.project_root.display()),
            Some(trouble),
        ));
    }
    examine_plugins(setup, options, surroundings, findings)
}

/// Asks every plugin afresh what it is, and says what became of it.
fn examine_plugins(
    setup: &Setup,
    options: &Options,
    surroundings: &Surroundings,
    findings: &mut Vec<Finding>,
) -> Result<(), CliError> {
    let plugins = match runtime(options) {
        Ok(runtime) => runtime.block_on(setup.load_plugins(surroundings, Asking::Always)),
        Err(error) => {
            findings.push(finding("plugins".into(), Some(error.to_string())));
            return Ok(());
        }
    };
    if let Some(home) = &setup.chibi_home {
        let trouble = setup.chibi_home_settings().err().map(|error| error.to_string());
        findings.push(finding(format!("chibi home {}", home.display()), trouble));
        let not_served = setup.not_served_of_chibi().into_iter();
        findings.extend(not_served.map(|remark| note("chibi's settings".into(), remark)));
    }
    let engine = Engine::new(None);
    let mut faults = plugins.faults().to_vec();
    faults.extend(plugins.register(&engine));
    let profile = setup.profile(options).unwrap_or_else(|error| {
        findings.push(finding("tool profile".into(), Some(error.to_string())));
        Profile::own()
    });
    let not_offered = plugins.add_tools(&profile, &mut Vec::new());
    faults.extend(not_offered.iter().map(NotOffered::remark));
    for plugin in plugins.all() {
        let tools: Vec<&str> = plugin.tools.iter().map(|tool| tool.name.as_str()).collect();
        let hooks: Vec<_> = plugin.hooks().into_iter().filter_map(hook_named).collect();
        let hooks: Vec<&str> = hooks.iter().map(|hook| hook.name()).collect();
        let hooks = match hooks.as_slice() {
            [] => "no hooks".to_owned(),
            hooks => format!("hooks {}", hooks.join(", ")),
        };
        let what = format!(
            "plugin {} ({} generation, {}): tools {}; {hooks}",
            plugin.name,
            generation_word(plugin.generation),
            plugin.path.display(),
            tools.join(", ")
        );
        findings.push(finding(what, None));
    }
    for fault in faults {
        findings.push(finding(format!("plugin {}", fault.plugin), Some(fault.message)));
    }
    findings.extend(plugins.unloaded().iter().map(not_loaded));
    let servers = examine_servers(setup, options, surroundings, findings)?;
    let extensions = examine_extensions(setup, options, surroundings, findings)?;
    examine_resources(setup, options, surroundings, findings)?;
    let scripts = examine_scheme(setup, &profile, surroundings, findings);
    let loaded = Loaded {
        extensions,
        plugins,
        servers,
        profile,
    };
    let missing = setup.missing_tools(&loaded, &scripts).into_iter();
    let missing = missing.map(|missing| missing.to_string());
    for trouble in setup.unknown_tools(&loaded).into_iter().chain(missing) {
        findings.push(finding("tool names".into(), Some(trouble)));
    }
    Ok(())
}

/// Something that was found and could not be loaded.
fn not_loaded(guest: &Unloaded) -> Finding {
    let what = format!("{} {} ({})", guest.kind, guest.name, guest.source);
    finding(what, Some(format!("{}; no run starts beside it", guest.why)))
}

/// Loads every extension that counts here, and says what became of it. Those of a project that is not trusted are told
/// with the project.
fn examine_extensions(
    setup: &Setup,
    options: &Options,
    surroundings: &Surroundings,
    findings: &mut Vec<Finding>,
) -> Result<Extensions, CliError> {
    for remark in &setup.extensions.remarks {
        findings.push(finding("extensions".into(), Some(remark.clone())));
    }
    findings.extend(setup.extensions.unloaded.iter().map(not_loaded));
    if setup.extensions.extensions.is_empty() {
        return Ok(Extensions::default());
    }
    let runtime = runtime(options)?;
    let extensions = runtime.block_on(async {
        let cancel = surroundings.signals.listen()?.next();
        let extensions = Extensions::load(
            &setup.extensions.extensions,
            setup.extension_settings(options, surroundings),
        );
        unless_cancelled(&cancel, extensions).await
    })?;
    findings.extend(extensions.each(|guest| {
        let mut what = guest.shown();
        for (kind, names) in guest.brought().iter().filter(|(_, names)| !names.is_empty()) {
            what = format!("{what}; {kind} {}", names.join(", "));
        }
        finding(what, guest.trouble.clone())
    }));
    Ok(extensions)
}

/// Loads the Scheme files of all contexts, and says what became of them.
fn examine_scheme(
    setup: &Setup,
    profile: &Profile,
    surroundings: &Surroundings,
    findings: &mut Vec<Finding>,
) -> Vec<String> {
    let heard = Arc::new(Warnings::default());
    let front: Arc<dyn Front> = heard.clone();
    let stage = (&Arc::new(Engine::new(None)), &front);
    let files = match setup.scheme_files(stage, &mut Vec::new(), Vec::new(), profile, surroundings) {
        Ok(files) => files,
        Err(error) => {
            findings.push(finding("Scheme files".into(), Some(error.to_string())));
            return Vec::new();
        }
    };
    // A store that cannot be read is a finding of its own.
    let store = setup.folders.open_store().ok();
    let contexts = store.and_then(|store| store.contexts().ok()).unwrap_or_default();
    let names = contexts.iter().map(|context| context.name.as_str());
    // Also where there is no context yet.
    names.chain(["default"]).for_each(|name| files.look(name));
    let loaded = files.names();
    findings.extend(
        loaded
            .into_iter()
            .map(|name| finding(format!("Scheme file {name}"), None)),
    );
    findings.extend(files.unloaded().iter().map(not_loaded));
    let warnings = heard
        .0
        .lock()
        .expect("no panic happens while the warnings are held");
    findings.extend(
        warnings
            .iter()
            .map(|words| finding("Scheme files".into(), Some(words.clone()))),
    );
    files.tool_names()
}

/// Collects what Scheme files have to say.
#[derive(Default)]
struct Warnings(Mutex<Vec<String>>);

impl Front for Warnings {
    fn show(&self, sight: Sight<'_>) {
        if let Sight::Warning(words) = sight {
            let mut heard = self
                .0
                .lock()
                .expect("no panic happens while the warnings are held");
            heard.push(words.to_owned());
        }
    }

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, PersonsAnswer> {
        Box::pin(async { PersonsAnswer::Nobody })
    }
}

/// Says which skills, prompt templates and themes lie around, and what is odd about them.
fn examine_resources(
    setup: &Setup,
    options: &Options,
    surroundings: &Surroundings,
    findings: &mut Vec<Finding>,
) -> Result<(), CliError> {
    let (found, remarks) = setup.resources(options, surroundings)?;
    let of_files = found.themes.iter().filter(|theme| theme.file.is_some());
    let kinds: [(&str, Vec<&str>); 3] = [
        (
            "skills",
            found.skills.iter().map(|skill| skill.name.as_str()).collect(),
        ),
        (
            "prompt templates",
            found
                .templates
                .iter()
                .map(|template| template.name.as_str())
                .collect(),
        ),
        ("themes", of_files.map(|theme| theme.name.as_str()).collect()),
    ];
    let some = kinds.iter().filter(|(_, names)| !names.is_empty());
    findings.extend(some.map(|(kind, names)| finding(format!("{kind}: {}", names.join(", ")), None)));
    findings.extend(remarks.into_iter().map(|remark| note("resources".into(), remark)));
    Ok(())
}

/// Asks every MCP server afresh what it offers.
fn examine_servers(
    setup: &Setup,
    options: &Options,
    surroundings: &Surroundings,
    findings: &mut Vec<Finding>,
) -> Result<RunServers, CliError> {
    let runtime = runtime(options)?;
    let servers = runtime.block_on(async {
        let cancel = surroundings.signals.listen()?.next();
        let servers = RunServers::load(setup, surroundings, becket_mcp::Asking::Always);
        let servers = unless_cancelled(&cancel, servers).await?;
        servers.servers.close().await;
        Ok::<_, CliError>(servers)
    });
    // A thread may still look for the address of a server.
    runtime.shutdown_background();
    let servers = servers?;
    for server in servers.servers.all() {
        let settings = server.settings();
        if servers.remarks().any(|remark| remark.server == settings.name) {
            continue;
        }
        let count = servers.servers.offers(&settings.name).len();
        let (name, place, origin) = (&settings.name, settings.place(), &settings.origin);
        findings.push(finding(
            format!("MCP server {name} ({place}, {origin}): {count} tools"),
            None,
        ));
    }
    for remark in servers.remarks() {
        let what = format!("MCP server {}", remark.server);
        findings.push(finding(what, Some(remark.message.clone())));
    }
    Ok(servers)
}

/// Whether the settings of the context can be read; where the store cannot, it has a finding of its own.
fn examine_context(setup: &mut Setup, options: &Options, surroundings: &Surroundings) -> Option<Finding> {
    let store = setup.folders.open_store().ok()?;
    Some(match Wish::of(options).and_then(|wish| wish.find(&store)) {
        Ok(name) => {
            let trouble = setup.enter(&name, surroundings).err();
            finding(format!("context {name}"), trouble.map(|error| error.to_string()))
        }
        Err(error) => finding("context".into(), Some(error.to_string())),
    })
}

fn finding(what: String, trouble: Option<String>) -> Finding {
    let state = trouble.map_or(State::Well, State::Wrong);
    Finding { what, state }
}

fn note(what: String, note: String) -> Finding {
    let state = State::Note(note);
    Finding { what, state }
}
