//! From the settings to the Scheme files of a run.

use std::io::ErrorKind;
use std::sync::Arc;

use becket_agent::front::Front;
use becket_agent::tool::Tool;
use becket_agent::url_policy::read_url;
use becket_agent::vfs::Vfs;
use becket_chibi::scheme::{FileSettings, HttpAllow, HttpSettings, Reach, Tier};
use becket_chibi::scheme_files::{Around, Attempts, Callers, EvalTool, Io, Marks, SchemeFiles, Web, World};
use becket_chibi::{HOME_SETTINGS_FILE, Host, call_seconds};
use becket_events::Profile;
use becket_hooks::Engine;
use becket_system::{CliError, Surroundings};

use crate::assemble::{Setup, tool_names};
use crate::config::{HttpAllowConfig, ToolsConfig};

impl Setup {
    /// What code in Scheme lives in that may do nothing.
    fn scheme_world(&self, surroundings: &Surroundings) -> Result<World, CliError> {
        let tools = self.tool_settings(&self.environment(surroundings));
        Ok(World {
            tier: Tier::Sandboxed,
            reach: Reach::Nowhere,
            web: Web {
                judge: self.url_judge()?,
                most_bytes: tools.fetch_bytes,
                longest: tools.fetch_timeout_limit,
            },
            variables: Vec::new(),
            time: call_seconds(self.config.chibi.tool_timeout.as_ref()),
            io: Io {
                vfs: Vfs::new(&self.vfs()),
                cwd: surroundings.cwd.clone(),
            },
            signals: surroundings.signals.clone(),
        })
    }

    /// Who wrote which file.
    pub fn scheme_marks(&self) -> Marks {
        Marks::new(self.folders.marks_folder())
    }

    /// The files of a run, beside the tools that are there. Files know becket's own tools by their names in `known`.
    pub fn scheme_files(
        &self,
        (engine, front): (&Arc<Engine>, &Arc<dyn Front>),
        tools: &mut Vec<Arc<dyn Tool>>,
        known: Vec<Arc<dyn Tool>>,
        profile: &Profile,
        surroundings: &Surroundings,
    ) -> Result<Arc<SchemeFiles>, CliError> {
        let callers = Arc::new(Callers::default());
        let world = self.scheme_world(surroundings)?;
        let evaluates = self.team.is_none() && profile.extras.contains(&becket_chibi::scheme::EVAL_TOOL);
        if evaluates {
            tools.push(Arc::new(EvalTool::new(world.clone(), &callers)));
        }
        let own = tool_names().map(ToOwned::to_owned);
        let present = tools
            .iter()
            .chain(&known)
            .map(|tool| tool.spec().face.name.clone());
        let taken = own
            .chain(present)
            .chain([becket_chibi::scheme::EVAL_TOOL.to_owned()])
            .collect();
        callers.set_known(known);
        let config = &self.config.chibi;
        let host = Host {
            chibi_home: self.contexts().parent().unwrap_or(&self.folders.data).to_owned(),
            project_root: self.project_root.clone(),
            hook_timeout: call_seconds(config.hook_timeout.as_ref()),
            environment: Arc::default(),
            terminal: None,
            verbose: config.verbose,
        };
        let around = Around {
            engine: Arc::clone(engine),
            front: Arc::clone(front),
            vfs: Vfs::new(&self.vfs()),
            flocks: self.flocks(),
            settings: self.file_settings()?,
            variables: {
                let surroundings = surroundings.clone();
                Arc::new(move |name| surroundings.variable(name))
            },
            marks: self.scheme_marks(),
            attempts: Attempts::new(self.folders.attempts_folder()),
            host,
            world,
            taken,
            without: self.without.clone(),
        };
        Ok(SchemeFiles::new(around, callers))
    }

    /// What files may do: what the home's settings say, and what becket's own say about that.
    fn file_settings(&self) -> Result<FileSettings, CliError> {
        let own = own_settings(&self.config.tools)
            .checked()
            .map_err(CliError::usage)?;
        check_addresses(&own).map_err(CliError::usage)?;
        let Some(home) = &self.chibi_home else {
            return Ok(own);
        };
        let file = home.join(HOME_SETTINGS_FILE);
        let wrong = |words: String| CliError::usage(format!("{}: {words}", file.display()));
        match std::fs::read_to_string(&file) {
            Ok(text) => {
                let settings = FileSettings::of_home(&text).map_err(wrong)?;
                check_addresses(&settings).map_err(wrong)?;
                Ok(settings.and(own))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(own),
            Err(error) => Err(wrong(error.to_string())),
        }
    }
}

fn own_settings(config: &ToolsConfig) -> FileSettings {
    let allow = config.http.allow.iter().map(|(path, allow)| {
        let allow = match allow {
            HttpAllowConfig::Below(addresses) => HttpAllow::Below(addresses.clone()),
            HttpAllowConfig::Word(word) => HttpAllow::Word(word.clone()),
        };
        (path.clone(), allow)
    });
    FileSettings {
        tiers: config.tiers.clone(),
        http: HttpSettings {
            allow: allow.collect(),
            trust_declared: config.http.trust_declared,
        },
        env: config.env.clone(),
    }
}

/// What is allowed must be known, so what is no address is not passed over.
fn check_addresses(settings: &FileSettings) -> Result<(), String> {
    let allowed = settings
        .http
        .allow
        .iter()
        .filter_map(|(path, allow)| match allow {
            HttpAllow::Below(addresses) => Some(addresses.iter().map(move |address| (path, address))),
            HttpAllow::Word(_) => None,
        });
    for (path, address) in allowed.flatten() {
        read_url(address).map_err(|why| format!("`tools.http.allow` for {path}: {why}"))?;
    }
    Ok(())
}
