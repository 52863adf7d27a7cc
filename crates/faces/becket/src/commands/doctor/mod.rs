//! `becket doctor`: looks for what may be wrong, and lists what it looked at.

mod broken;
mod machine;
mod model;

use std::sync::{Arc, Mutex};

use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer};
use becket_events::Profile;
use becket_face_kit::listening;
use becket_hooks::Engine;
use becket_host::{Asking, Health, KnownCommands, Person, Reader, Report, Stage, Toolbox};
use becket_run::agent_settings::profile;
use becket_run::loading::Loaded;
use becket_run::loading::load;
use becket_run::options::Caller;
use becket_run::remarks::unknown_tools;
use becket_run::restricted_tools::missing_tools;
use becket_run::setup::Setup;
use becket_run::target::ContextChoice;
use becket_run::tool_names::tool_names;
use becket_system::{CliError, Exit, Folders, Surroundings, harmless};
use becket_tools::Models;
use futures_util::future::BoxFuture;

use super::hooks::broken_hooks;
use crate::options::Options;
use crate::printing::print;

/// Whether the model is asked something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Nothing is sent.
    Offline,
    /// One tiny request is sent to the model.
    Online,
}

/// Looks at configuration, model, store, machine, hooks, plugins, servers and extensions. Ends with 1 if something is
/// wrong.
pub fn run(options: &Options, network: Network, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let mut findings = Vec::new();
    match Setup::read(&options.run, surroundings) {
        Ok(mut setup) => examine(&mut setup, options, (network, surroundings), &mut findings)?,
        Err(error) => {
            let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
            findings.extend(unreadable(&error, &folders));
        }
    }
    let ill = findings
        .iter()
        .any(|finding| matches!(finding.state, Health::Wrong(_)));
    for Report { what, state } in findings {
        let line = if options.run.json {
            let (note, trouble) = match state {
                Health::Well => (None, None),
                Health::Note(note) => (Some(note), None),
                Health::Wrong(trouble) => (None, Some(trouble)),
            };
            serde_json::json!({"what": what, "ok": trouble.is_none(), "note": note, "trouble": trouble})
                .to_string()
        } else {
            harmless(&match state {
                Health::Well => format!("ok    {what}"),
                Health::Note(note) => format!("note  {what}: {note}"),
                Health::Wrong(trouble) => format!("wrong {what}: {trouble}"),
            })
        };
        print(&format!("{line}\n"))?;
    }
    Ok(if ill { Exit::Failed } else { Exit::Answered })
}

/// Why the settings cannot be read: a report for each mistake, which names the file that has it.
fn unreadable(error: &CliError, folders: &Folders) -> Vec<Report> {
    let settings = folders.config_file().display().to_string();
    let hint = error
        .hint
        .as_ref()
        .map_or(String::new(), |hint| format!("; {hint}"));
    let mistakes = error.message.lines().map(|line| {
        let what = match line.split_once(':') {
            Some((file, _)) if file != settings && file.starts_with('/') => format!("hooks in {file}"),
            _ => format!("settings in {}", folders.config.display()),
        };
        Report::new(what, Some(format!("{line}{hint}")))
    });
    mistakes.collect()
}

/// Runs all checks. The error says that the user cancelled; everything else is a finding.
fn examine(
    setup: &mut Setup,
    options: &Options,
    (network, surroundings): (Network, &Surroundings),
    findings: &mut Vec<Report>,
) -> Result<(), CliError> {
    let file = setup.folders.config_file();
    let state = if file.exists() {
        ""
    } else {
        " (no such file, the defaults apply)"
    };
    findings.push(Report::new(
        format!("settings in {}{state}", file.display()),
        None,
    ));
    findings.extend(examine_context(setup, options, surroundings));
    let (reports, provider) = model::examine(setup, options, surroundings);
    findings.extend(reports);
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
    findings.push(Report::new(format!("store {}", store.display()), trouble.err()));
    let data = store.parent().unwrap_or(&store);
    findings.push(machine::disk(data));
    let asked = listening(options, surroundings, async |_| {
        let mut reports = machine::programs(surroundings).await;
        if let (Network::Online, Some(provider)) = (network, &provider) {
            reports.push(model::ask(&**provider).await);
        }
        Ok(reports)
    });
    findings.extend(asked?);
    let project = &setup.project;
    let refusal = project.refusal.iter().map(ToString::to_string);
    let skipped = project.skipped.iter().chain(&setup.prompt_files.skipped);
    for trouble in refusal.chain(skipped.cloned()) {
        findings.push(Report::new(
            format!("project {}", setup.project_root.display()),
            Some(trouble),
        ));
    }
    if let Some(home) = setup.found.home() {
        let trouble = setup.guest_settings.home().err().map(|error| error.to_string());
        let what = format!("{} {}", home.name, home.folder.display());
        findings.push(Report::new(what, trouble));
        let not_served = setup.guest_settings.not_served().into_iter();
        findings
            .extend(not_served.map(|(system, remark)| Report::note(format!("{system}'s settings"), remark)));
    }
    examine_guests(setup, options, surroundings, findings)?;
    // A file that cannot be read is a finding already.
    let found = broken_hooks(options, surroundings).unwrap_or_default();
    broken::add(findings, found, &surroundings.cwd);
    Ok(())
}

/// Loads every guest, asks it what it is without the cache, and reports the result. Guests of an untrusted project are
/// reported with the project.
fn examine_guests(
    setup: &Setup,
    options: &Options,
    surroundings: &Surroundings,
    findings: &mut Vec<Report>,
) -> Result<(), CliError> {
    let profile = profile(setup, &options.run).unwrap_or_else(|error| {
        findings.push(Report::new("tool profile", Some(error.to_string())));
        Profile::own()
    });
    let examined = listening(options, surroundings, async |signals| {
        let cancel = signals.next();
        let caller = Caller {
            options: &options.run,
            surroundings,
            cancel: &cancel,
        };
        let heard = Arc::new(Warnings::default());
        let person = Person::reading(heard.clone());
        let engine = Arc::new(Engine::new(None));
        let asking = (Asking::Always, profile);
        let loaded = load(setup, caller, (&engine, &person), asking).await?;
        let odd = examine_offers(setup, &loaded, (&engine, &person))?;
        findings.extend(loaded.guests.reports());
        findings.extend(
            odd.iter()
                .chain(&heard.take())
                .map(|remark| Report::of_remark(remark)),
        );
        loaded.guests.close().await;
        Ok(loaded)
    });
    let loaded = match examined {
        Ok(loaded) => loaded,
        Err(error) if error.exit == Exit::Cancelled => return Err(error),
        Err(error) => {
            findings.push(Report::new("guests", Some(error.to_string())));
            return Ok(());
        }
    };
    let missing = missing_tools(setup, &loaded).into_iter();
    let missing = missing.map(|missing| missing.to_string());
    for trouble in unknown_tools(setup, &loaded).into_iter().chain(missing) {
        findings.push(Report::new("tool names", Some(trouble)));
    }
    Ok(())
}

/// Reports what is odd about the hooks and tools of guests.
fn examine_offers(
    setup: &Setup,
    loaded: &Loaded,
    (engine, person): (&Arc<Engine>, &Person),
) -> Result<Vec<String>, CliError> {
    let mut odd = Vec::new();
    // A store that cannot be opened is a finding of its own.
    let store = setup.open_store().ok().map(Arc::new);
    if let Some(store) = &store {
        let models: Models = Arc::new(|_| Err("no model is asked here".into()));
        let reader = Arc::new(Reader::blind(engine, Arc::clone(&person.front)));
        odd.extend(loaded.guests.register(&Stage {
            engine,
            person,
            store,
            profile: &loaded.profile,
            models: &models,
            servers: &loaded.guests.server_calls(),
            reader: &reader,
            chat: None,
            awaits_prompts: true,
            commands: &KnownCommands::default(),
            is_rehearsal: false,
        })?);
    }
    let own_names: Vec<&'static str> = tool_names().collect();
    let mut toolbox = Toolbox {
        profile: &loaded.profile,
        tools: Vec::new(),
        own_tools: &|_| Vec::new(),
        own_names: &own_names,
        is_foreign_name: &|name| setup.hosts.has_tool(name),
    };
    odd.extend(loaded.guests.add_tools(&mut toolbox));
    loaded.guests.settle_tools(&toolbox);
    let contexts = store.and_then(|store| store.contexts().ok()).unwrap_or_default();
    let names = contexts.iter().map(|context| context.name.as_str());
    // Also where there is no context yet.
    names
        .chain(["default"])
        .for_each(|name| loaded.guests.enter(name));
    Ok(odd)
}

/// A front that collects the warnings of guests while they are examined.
#[derive(Default)]
struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    fn take(&self) -> Vec<String> {
        let mut heard = self
            .0
            .lock()
            .expect("no panic happens while the warnings are held");
        std::mem::take(&mut *heard)
    }
}

impl Front for Warnings {
    fn show(&self, update: FrontUpdate<'_>) {
        if let FrontUpdate::Warning(words) = update {
            let mut heard = self
                .0
                .lock()
                .expect("no panic happens while the warnings are held");
            heard.push(words.to_owned());
        }
    }

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, UserAnswer> {
        Box::pin(async { UserAnswer::Nobody })
    }
}

/// Checks the settings of the context. A store that cannot be read has a finding of its own.
fn examine_context(setup: &mut Setup, options: &Options, surroundings: &Surroundings) -> Option<Report> {
    let store = setup.open_store().ok()?;
    Some(
        match ContextChoice::of(&options.run).and_then(|choice| choice.find(&store)) {
            Ok(name) => {
                let trouble = setup.enter(&name, surroundings).err();
                Report::new(format!("context {name}"), trouble.map(|error| error.to_string()))
            }
            Err(error) => Report::new("context", Some(error.to_string())),
        },
    )
}
