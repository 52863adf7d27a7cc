//! Extensions as guests of a run.

use std::sync::Arc;

use becket_check::{HookFile, NamedFile};
use becket_hooks::Section;
use becket_host::{
    Found, FoundGuest, GuestOptions, Guests, Host, Listed, Loading, Place, Report, Stage, Toolbox, Unloaded,
};
use becket_js::Extension;
use becket_system::{CliError, Folders};
use becket_trust::{Judged, Kind};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::check;
use crate::config::{JsConfig, PiConfig};
use crate::discovery::{self, EXTENSION, ProjectFolder};
use crate::extensions::{self, Extensions, Given, Guest, LoadSettings};
use crate::host_call::Mode;
use crate::resources::Resources;
use crate::shelf::RunShelf;

/// The options about extensions, and about what lies beside them.
pub const EXTENSION_OPTION: &str = "extension";
pub const NO_EXTENSIONS: &str = "no-extensions";
pub const SKILL: &str = "skill";
pub const NO_SKILLS: &str = "no-skills";
pub const TEMPLATE: &str = "prompt-template";
pub const NO_TEMPLATES: &str = "no-prompt-templates";
pub const THEME: &str = "theme";
pub const NO_THEMES: &str = "no-themes";

/// Finds extensions.
pub struct ExtensionHost;

impl Host for ExtensionHost {
    fn kind(&self) -> &'static str {
        EXTENSION
    }

    fn sections(&self) -> &'static [Section] {
        const { &[Section::of::<PiConfig>(), Section::of::<JsConfig>()] }
    }

    fn check_files(&self, place: &Place<'_>) -> Result<Vec<HookFile>, CliError> {
        check::files(place)
    }

    fn check_file(&self, file: &NamedFile<'_>) -> Option<HookFile> {
        check::file(file)
    }

    fn hidden_folders(&self) -> &'static [&'static str] {
        &[".pi"]
    }

    fn find(&self, place: &Place<'_>) -> Result<Box<dyn Found>, CliError> {
        Ok(Box::new(FoundExtensions::find(place)?))
    }
}

/// The extensions that were found, and what lies beside them.
pub struct FoundExtensions {
    given: Given,
    config: PiConfig,
    js: JsConfig,
    /// The extensions.
    pub found: discovery::Found,
    judged: Vec<Judged>,
    refusal: Option<CliError>,
    left_out: Vec<String>,
}

impl FoundExtensions {
    /// Finds extensions, and judges those of the project.
    pub fn find(place: &Place<'_>) -> Result<Self, CliError> {
        let (config, js) = (place.section()?, place.section()?);
        let given = given(place.options, place.trust.is_of_run());
        let search = search(place, &given, &config);
        let (mut found, mut judged) = extensions::find(&search, place.trust)?;
        let left_out = leave_out(&mut found, place.without);
        let refusal = extensions::refusal(&found, &judged, place.trust);
        judged.extend(extensions::judge_resources(&search, place.trust));
        Ok(Self {
            given,
            config,
            js,
            found,
            judged,
            refusal,
            left_out,
        })
    }

    /// Skills, prompt templates and themes that count here, and what is odd about them.
    pub fn resources(&self, place: &Place<'_>) -> Result<(Resources, Vec<String>), CliError> {
        let mut judged = self.judged.iter();
        let is_trusted = judged.any(|judged| judged.item.kind == Kind::Resources && judged.is_trusted());
        let project = match self.given.trust || is_trusted {
            true => ProjectFolder::Trusted,
            false => ProjectFolder::Untrusted,
        };
        extensions::find_resources(&search(place, &self.given, &self.config), project)
    }

    fn settings(&self, loading: &Loading<'_>) -> LoadSettings {
        let (place, program) = (&loading.place, loading.program);
        LoadSettings {
            surroundings: place.surroundings.clone(),
            config: self.config.clone(),
            js: self.js.clone(),
            config_folder: place.folders.config.clone(),
            cache: place.folders.cache.join("js"),
            environment: Arc::clone(&loading.environment.variables),
            providers: loading.providers.clone(),
            mode: match program.mode {
                becket_host::Mode::Rpc => Mode::Rpc,
                becket_host::Mode::Json => Mode::Json,
                becket_host::Mode::Print => Mode::Print,
            },
            is_trusted: loading.is_project_trusted,
            keeps_sessions: program.keeps_sessions,
            prompt_files: loading.prompt_files.to_vec(),
            own_options: program.option_names,
            program: program.file.clone(),
        }
    }

    /// Loads what counts.
    pub async fn load_all(&self, loading: &Loading<'_>) -> Result<ExtensionGuests, CliError> {
        let (resources, about_resources) = match loading.has_agent_file {
            true => Default::default(),
            false => self.resources(&loading.place)?,
        };
        // Who talks on a screen may bring extensions later.
        let takes_more = loading.place.surroundings.screen.get().is_some();
        let is_needed = !self.found.extensions.is_empty() || loading.program.is_steered || takes_more;
        let extensions = match is_needed {
            true => Extensions::load(&self.found.extensions, self.settings(loading)).await,
            false => Extensions::default(),
        };
        Ok(ExtensionGuests {
            extensions: Arc::new(extensions),
            shelf: Arc::new(RunShelf::new(resources, &loading.place.surroundings.cwd)),
            missing: self.found.unloaded.clone(),
            about_extensions: self.found.remarks.clone(),
            about_resources,
        })
    }
}

fn search<'a>(place: &Place<'a>, given: &'a Given, config: &'a PiConfig) -> extensions::Place<'a> {
    extensions::Place {
        given,
        config,
        folders: place.folders,
        surroundings: place.surroundings,
    }
}

fn given(options: &GuestOptions, trust: bool) -> Given {
    Given {
        extensions: options.paths(EXTENSION_OPTION),
        no_extensions: options.has(NO_EXTENSIONS),
        skills: options.paths(SKILL),
        no_skills: options.has(NO_SKILLS),
        templates: options.paths(TEMPLATE),
        no_templates: options.has(NO_TEMPLATES),
        themes: options.paths(THEME),
        no_themes: options.has(NO_THEMES),
        trust,
    }
}

/// Takes away the extensions that the user leaves out, and names them.
fn leave_out(found: &mut discovery::Found, without: &[String]) -> Vec<String> {
    let names = found.extensions.iter().map(|candidate| &candidate.name);
    let names = names.chain(found.unloaded.iter().map(|guest| &guest.name));
    let left_out: Vec<String> = names.filter(|name| without.contains(name)).cloned().collect();
    found
        .extensions
        .retain(|candidate| !left_out.contains(&candidate.name));
    found.unloaded.retain(|guest| !left_out.contains(&guest.name));
    left_out
}

impl Found for FoundExtensions {
    fn guests(&self) -> Vec<FoundGuest> {
        let trusted = self.found.extensions.iter().map(|candidate| FoundGuest {
            name: candidate.name.clone(),
            file: candidate.file.clone(),
            is_trusted: true,
        });
        let untrusted = self.found.untrusted.iter().map(|file| FoundGuest {
            name: file.display().to_string(),
            file: file.clone(),
            is_trusted: false,
        });
        trusted.chain(untrusted).collect()
    }

    fn judged(&self) -> &[Judged] {
        &self.judged
    }

    fn refusal(&self) -> Option<CliError> {
        self.refusal.clone()
    }

    fn left_out(&self) -> Vec<String> {
        self.left_out.clone()
    }

    fn remember(&self, folders: &Folders) -> Option<String> {
        let file = folders.extensions_file();
        let error = self.found.remember(&file).err()?;
        let file = file.display();
        Some(format!(
            "{file} cannot be written, so a lost extension is not missed: {error}"
        ))
    }

    fn load<'a>(&'a self, loading: &'a Loading<'a>) -> BoxFuture<'a, Result<Arc<dyn Guests>, CliError>> {
        Box::pin(async move {
            let guests = self.load_all(loading).await?;
            Ok(Arc::new(guests) as Arc<dyn Guests>)
        })
    }
}

/// Extensions that are loaded, and what lies beside them.
pub struct ExtensionGuests {
    /// The extensions.
    pub extensions: Arc<Extensions>,
    /// Skills, prompt templates and themes.
    pub shelf: Arc<RunShelf>,
    /// What pi would load and is not there.
    missing: Vec<Unloaded>,
    /// What is odd about them.
    about_extensions: Vec<String>,
    about_resources: Vec<String>,
}

impl Guests for ExtensionGuests {
    fn key_variables(&self) -> Vec<String> {
        self.extensions.key_variables()
    }

    fn remarks(&self) -> Vec<String> {
        [self.about_extensions.as_slice(), &self.about_resources].concat()
    }

    fn unloaded(&self) -> Vec<Unloaded> {
        let missing = self.missing.iter().cloned();
        missing.chain(self.extensions.unloaded()).collect()
    }

    fn leave_out(&self, name: &str) {
        self.extensions.leave_out(name);
    }

    fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        let parts = (stage.engine, stage.person, stage.store);
        self.extensions
            .take_stage(parts, &self.shelf, stage.profile, Arc::clone(stage.models));
        Ok(Vec::new())
    }

    fn tool_rank(&self) -> u8 {
        1
    }

    fn add_tools(&self, toolbox: &mut Toolbox<'_>) -> Vec<String> {
        self.extensions.add_tools(toolbox.profile, &mut toolbox.tools)
    }

    fn tool_names(&self) -> Vec<String> {
        self.extensions.tool_names()
    }

    fn may_still_bring(&self, _: &str) -> bool {
        !self.extensions.names().is_empty()
    }

    fn names(&self) -> Vec<String> {
        self.extensions.names()
    }

    fn reports(&self) -> Vec<Report> {
        // Those that could not be loaded are told by whoever asks for them.
        let loaded = self.extensions.each(|guest| {
            let is_loaded = guest.trouble.is_none();
            is_loaded.then(|| Report::new(brought(guest, ";"), None))
        });
        let loaded = loaded.into_iter().flatten();
        let odd = self.about_extensions.iter();
        let odd = odd.map(|remark| Report::new("extensions", Some(remark.clone())));
        let kinds = self.shelf.kinds().into_iter();
        let kinds = kinds.filter(|(_, names)| !names.is_empty());
        let kinds = kinds.map(|(kind, names)| Report::new(format!("{kind}: {}", names.join(", ")), None));
        let notes = self.about_resources.iter();
        let notes = notes.map(|remark| Report::note("resources", remark.clone()));
        odd.chain(loaded).chain(kinds).chain(notes).collect()
    }

    fn listed(&self) -> Vec<Listed> {
        self.extensions.each(listed)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.extensions.end())
    }
}

/// An extension with the names of what it brings.
fn brought(guest: &Guest, separator: &str) -> String {
    let mut text = guest.shown();
    for (kind, names) in guest.brought().iter().filter(|(_, names)| !names.is_empty()) {
        text = format!("{text}{separator} {kind} {}", names.join(", "));
    }
    text
}

fn listed(guest: &Guest) -> Listed {
    let brings = guest.brought();
    let [hooks, tools, commands, flags, providers] = &brings.each_ref().map(|(_, names)| names);
    let json = json!({
        "kind": "extension",
        "name": guest.candidate.name,
        "path": guest.candidate.file.display().to_string(),
        "engine": guest.extension.as_ref().map(Extension::engine),
        "hooks": hooks,
        "tools": tools,
        "commands": commands,
        "flags": flags,
        "shortcuts": guest.shortcuts,
        "providers": providers,
        "trouble": guest.trouble,
        "trusted": true,
    });
    let mut text = brought(guest, " ");
    if let Some(trouble) = &guest.trouble {
        text = format!("{text}  not loaded: {trouble}");
    }
    Listed { text, json }
}
