//! The extensions and resources that were found for a run, and how the extensions are loaded.
//!
//! Variables with keys that extensions name are known only after loading, so extensions are loaded before any other
//! program is started. An extension sees its own keys, since its author reads them to decide what to register.

use std::sync::Arc;

use becket_host::{Found, FoundGuest, GuestSearch, Guests, Loading, ModelLists};
use becket_system::{CliError, Folders};
use becket_trust::{Judged, Kind};
use futures_util::future::BoxFuture;

use crate::config::{JsConfig, PiConfig};
use crate::discovery::{self, Candidate, ProjectFolder};
use crate::extensions::{self, Extensions, Given, LoadSettings};
use crate::guests::ExtensionGuests;
use crate::host_call::Mode;
use crate::options::given;
use crate::resources::Resources;
use crate::run_resources::RunResources;

/// The extensions and resources that were found.
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
    pub fn find(place: &GuestSearch<'_>) -> Result<Self, CliError> {
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

    /// The skills, prompt templates and themes of the run, and remarks about them.
    pub fn resources(&self, place: &GuestSearch<'_>) -> Result<(Resources, Vec<String>), CliError> {
        let mut judged = self.judged.iter();
        let is_trusted = judged.any(|judged| judged.item.kind == Kind::Resources && judged.is_trusted());
        let project = match (self.given.no_project, self.given.trust || is_trusted) {
            (true, _) => ProjectFolder::Ignored,
            (false, true) => ProjectFolder::Trusted,
            (false, false) => ProjectFolder::Untrusted,
        };
        extensions::find_resources(&search(place, &self.given, &self.config), project)
    }

    /// Whether the project brings something that is used.
    fn uses_project(&self) -> bool {
        let mut judged = self.judged.iter();
        self.found.extensions.iter().any(Candidate::is_of_project)
            || judged.any(|judged| judged.item.kind == Kind::Resources && judged.is_trusted())
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
            model_lists: ModelLists::new(&place.folders.cache),
            mode: match program.mode {
                becket_host::Mode::Rpc => Mode::Rpc,
                becket_host::Mode::Json => Mode::Json,
                becket_host::Mode::Print => Mode::Print,
            },
            is_trusted: loading.is_project_trusted,
            asks_about_project: !self.given.trust && self.uses_project(),
            keeps_sessions: program.keeps_sessions,
            default_tools: self.given.default_tools,
            prompt_files: loading.prompt_files.to_vec(),
            own_options: program.option_names,
            program: program.file.clone(),
        }
    }

    /// Loads the trusted extensions.
    pub async fn load_all(&self, loading: &Loading<'_>) -> Result<ExtensionGuests, CliError> {
        let (resources, about_resources) = match loading.has_agent_file {
            true => Default::default(),
            false => self.resources(&loading.place)?,
        };
        // In an interactive session, extensions may be added later.
        let takes_more = loading.place.surroundings.screen.get().is_some();
        let is_needed = !self.found.extensions.is_empty()
            || self.given.default_tools
            || loading.program.is_steered
            || takes_more;
        let extensions = match is_needed {
            true => Extensions::load(&self.found.extensions, self.settings(loading)).await?,
            false => Extensions::default(),
        };
        Ok(ExtensionGuests {
            extensions: Arc::new(extensions),
            resources: Arc::new(RunResources::new(resources, &loading.place.surroundings.cwd)),
            missing: self.found.unloaded.clone(),
            about_extensions: self.found.remarks.clone(),
            about_resources,
        })
    }
}

fn search<'a>(
    place: &GuestSearch<'a>,
    given: &'a Given,
    config: &'a PiConfig,
) -> extensions::ExtensionSearch<'a> {
    extensions::ExtensionSearch {
        given,
        config,
        folders: place.folders,
        surroundings: place.surroundings,
    }
}

/// Removes the extensions that the user leaves out, and returns their names.
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
