//! `becket doctor`: looks for what may be wrong.

use std::sync::{Arc, Mutex};

use becket_agent::front::{Front, PersonsAnswer, Question, Sight};
use becket_events::Profile;
use becket_hooks::Engine;
use becket_host::{Asking, Health, Person, Report, Stage, Toolbox};
use becket_system::{CliError, Exit, Folders, Surroundings, harmless};
use becket_tools::Models;
use futures_util::future::BoxFuture;

use super::{print, runtime};
use crate::args::Options;
use crate::assemble::{Caller, Loaded, Setup, tool_names};
use crate::target::Wish;

/// Looks at configuration, model, store, hooks, plugins, servers and extensions. Ends with 1 if something is wrong.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let mut findings = Vec::new();
    match Setup::read(options, surroundings) {
        Ok(mut setup) => examine(&mut setup, options, surroundings, &mut findings)?,
        Err(error) => {
            let folders = Folders::find(options.home.as_deref(), surroundings)?;
            findings.push(Report::new(
                format!("settings in {}", folders.config.display()),
                Some(error.to_string()),
            ));
        }
    }
    let ill = findings
        .iter()
        .any(|finding| matches!(finding.state, Health::Wrong(_)));
    for Report { what, state } in findings {
        let line = if options.json {
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

/// The error says that the person cancelled; everything else is a finding.
fn examine(
    setup: &mut Setup,
    options: &Options,
    surroundings: &Surroundings,
    findings: &mut Vec<Report>,
) -> Result<(), CliError> {
    let file = setup.folders.config_file();
    let state = if file.exists() {
        ""
    } else {
        " (not there, the usual settings apply)"
    };
    findings.push(Report::new(
        format!("settings in {}{state}", file.display()),
        None,
    ));
    findings.extend(examine_context(setup, options, surroundings));
    findings.push(match setup.provider(options, surroundings) {
        Ok(provider) => Report::new(format!("model {}/{}", provider.name(), provider.model()), None),
        Err(error) => Report::new("model", Some(error.to_string())),
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
    findings.push(Report::new(format!("store {}", store.display()), trouble.err()));
    let project = &setup.project;
    let refusal = project.refusal.iter().map(ToString::to_string);
    let skipped = project.skipped.iter().chain(&setup.prompt_files.skipped);
    for trouble in refusal.chain(skipped.cloned()) {
        findings.push(Report::new(
            format!("project {}", setup.project_root.display()),
            Some(trouble),
        ));
    }
    if let Some(home) = &setup.chibi_home {
        let trouble = setup.chibi_home_settings().err().map(|error| error.to_string());
        findings.push(Report::new(format!("chibi home {}", home.display()), trouble));
        let not_served = setup.not_served_of_chibi().into_iter();
        findings.extend(not_served.map(|remark| Report::note("chibi's settings", remark)));
    }
    examine_guests(setup, options, surroundings, findings)
}

/// Loads every guest, asks it afresh what it is, and says what became of it. Those of a project that is not trusted are
/// told with the project.
fn examine_guests(
    setup: &Setup,
    options: &Options,
    surroundings: &Surroundings,
    findings: &mut Vec<Report>,
) -> Result<(), CliError> {
    let profile = setup.profile(options).unwrap_or_else(|error| {
        findings.push(Report::new("tool profile", Some(error.to_string())));
        Profile::own()
    });
    let runtime = runtime(options)?;
    let examined = runtime.block_on(async {
        let cancel = surroundings.signals.listen()?.next();
        let caller = Caller {
            options,
            surroundings,
            cancel: &cancel,
        };
        let heard = Arc::new(Warnings::default());
        let person = Person::reading(heard.clone());
        let engine = Arc::new(Engine::new(None));
        let asking = (Asking::Always, profile);
        let loaded = setup.load(caller, (&engine, &person), asking).await?;
        let odd = examine_offers(setup, &loaded, (&engine, &person))?;
        findings.extend(loaded.guests.reports());
        findings.extend(
            odd.iter()
                .chain(&heard.take())
                .map(|remark| Report::of_remark(remark)),
        );
        loaded.guests.close().await;
        Ok::<_, CliError>(loaded)
    });
    // A thread may still look for the address of a server.
    runtime.shutdown_background();
    let loaded = match examined {
        Ok(loaded) => loaded,
        Err(error) if error.exit == Exit::Cancelled => return Err(error),
        Err(error) => {
            findings.push(Report::new("guests", Some(error.to_string())));
            return Ok(());
        }
    };
    let missing = setup.missing_tools(&loaded).into_iter();
    let missing = missing.map(|missing| missing.to_string());
    for trouble in setup.unknown_tools(&loaded).into_iter().chain(missing) {
        findings.push(Report::new("tool names", Some(trouble)));
    }
    Ok(())
}

/// What is odd about the hooks and tools of guests.
fn examine_offers(
    setup: &Setup,
    loaded: &Loaded,
    (engine, person): (&Arc<Engine>, &Person),
) -> Result<Vec<String>, CliError> {
    let mut odd = Vec::new();
    // A store that cannot be opened is a finding of its own.
    let store = setup.folders.open_store().ok().map(Arc::new);
    if let Some(store) = &store {
        let models: Models = Arc::new(|_| Err("no model is asked here".into()));
        odd.extend(loaded.guests.register(&Stage {
            engine,
            person,
            store,
            profile: &loaded.profile,
            models: &models,
            is_rehearsal: false,
        })?);
    }
    let own_names: Vec<&'static str> = tool_names().collect();
    let mut toolbox = Toolbox {
        profile: &loaded.profile,
        tools: Vec::new(),
        own_tools: &|_| Vec::new(),
        own_names: &own_names,
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

/// Collects what guests have to say while they are looked at.
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

/// Whether the settings of the context can be read; where the store cannot, it has a finding of its own.
fn examine_context(setup: &mut Setup, options: &Options, surroundings: &Surroundings) -> Option<Report> {
    let store = setup.folders.open_store().ok()?;
    Some(match Wish::of(options).and_then(|wish| wish.find(&store)) {
        Ok(name) => {
            let trouble = setup.enter(&name, surroundings).err();
            Report::new(format!("context {name}"), trouble.map(|error| error.to_string()))
        }
        Err(error) => Report::new("context", Some(error.to_string())),
    })
}
