//! The agent's settings, from the command line, the context, the user's settings and those of guests' systems.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::gate::{ApprovalSettings, ProtectedPlaces};
use becket_agent::provider::{Provider, RequestOptions};
use becket_agent::{AgentSettings, ConfigFiles, EndingTool, Rules, SubagentSettings, UNLIMITED};
use becket_events::Profile;
use becket_hooks::nearest;
use becket_host::{Interactive, RuleReading, RunSettings};
use becket_system::project_root::SETTINGS;
use becket_system::{CliError, Surroundings};
use becket_tools::CALL_USER;
use toml::Spanned;

use crate::config::PermissionsConfig;
use crate::default_tools::unoffered;
use crate::models::compaction;
use crate::options::RunOptions;
use crate::remarks::tell;
use crate::setup::Setup;
use crate::stored_rules::StoredRules;
use crate::tool_names::tool_names;
use crate::urls::url_judge;

/// The profile of that name.
fn named_profile(name: &str) -> Result<Profile, CliError> {
    becket_dialects::profile_named(name).ok_or_else(|| {
        let names: Vec<&str> = becket_dialects::profile_names().collect();
        let error = CliError::usage(format!("there is no tool profile `{name}`"));
        match nearest(name, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("there are {}", names.join(", "))),
        }
    })
}

/// The text of a file, or the words themselves if there is no such file.
fn text_or_file(words: &str, surroundings: &Surroundings) -> Result<String, CliError> {
    let file = surroundings.cwd.join(words);
    if !becket_fs::is_file(&file) {
        return Ok(words.to_owned());
    }
    becket_fs::read_to_string(&file)
        .map_err(|error| CliError::usage(format!("{} cannot be read: {error}", file.display())))
}

/// The settings of this run's agent, with what its model and its agent file change.
pub(crate) fn settings_of_run(
    setup: &Setup,
    options: &RunOptions,
    surroundings: &Surroundings,
    provider: &dyn Provider,
    guests: &dyn Interactive,
) -> Result<AgentSettings, CliError> {
    let mut settings = agent_settings(setup, options, surroundings)?;
    settings.compaction = compaction(setup, provider, guests.context_window(provider));
    settings.unoffered = unoffered(setup, options);
    if let Some(team) = &setup.team {
        // It gets what the file gives it: no instructions of the project, no notes of becket's about itself.
        settings.agent_name = team.first_agent().to_owned();
        (settings.prompt_files, settings.reflection) = (Vec::new(), None);
    }
    Ok(settings)
}

/// The tool profile of a run: the names by which the model knows the tools.
pub fn profile(setup: &Setup, options: &RunOptions) -> Result<Profile, CliError> {
    if let Some(team) = &setup.team {
        return Ok(team.profile());
    }
    // Who names tools one by one, names them as pi does, or as becket does where pi has no such tool.
    if let Some(names) = options.tool_list() {
        let pi = named_profile("pi")?;
        let is_own = |name: &String| {
            let name = name.trim_start_matches(['-', '+']);
            pi.face_named(name).is_none() && tool_names().any(|own| own == name)
        };
        return match names.iter().any(is_own) {
            true => named_profile("becket"),
            false => Ok(pi),
        };
    }
    let name = options
        .tools
        .as_deref()
        .or(setup.config.tools.profile.as_deref())
        .unwrap_or("becket");
    named_profile(name)
}

/// The files with settings and hooks of this run.
fn config_files(setup: &Setup, cwd: &Path) -> ConfigFiles {
    let guests = setup.found.all().into_iter();
    let guests = guests.map(|(_, guest)| cwd.join(guest_file(&guest.file)));
    ConfigFiles::now(std::iter::once(setup.folders.config_file()).chain(guests))
}

/// The agent's settings, whichever model and agent file are used.
pub fn agent_settings(
    setup: &Setup,
    options: &RunOptions,
    surroundings: &Surroundings,
) -> Result<AgentSettings, CliError> {
    let usual = AgentSettings::default();
    let config = &setup.config.agent;
    let of_guests = &setup.guest_settings;
    let home = of_guests.home()?;
    Ok(AgentSettings {
        home: setup.folders.data.clone(),
        project_root: setup.project_root.clone(),
        cwd: surroundings.cwd.clone(),
        contexts: setup.contexts(),
        vfs: setup.vfs(),
        instructions: instructions(setup, options, surroundings, &usual.instructions)?,
        user_name: user_name(setup)?,
        prompt_files: setup.prompt_files.files.clone(),
        setup: options.setup,
        config_files: config_files(setup, &surroundings.cwd),
        max_iterations: options
            .max_iterations
            .or(config.max_requests.or(config.max_iterations).map(NonZeroU32::get))
            .unwrap_or(match is_attended(options, surroundings) {
                true => UNLIMITED,
                false => usual.max_iterations,
            }),
        fuel: options
            .fuel
            .or(setup.context.fuel)
            .or(config.fuel)
            .or(home.and_then(|home| home.fuel))
            .filter(|fuel| *fuel > 0),
        empty_answer_cost: config
            .fuel_empty_response_cost
            .or(of_guests.first(|settings| settings.empty_answer_cost)?)
            .unwrap_or(usual.empty_answer_cost),
        fallback: setup
            .context
            .fallback
            .or(config.fallback)
            .or(home.and_then(|home| home.fallback))
            .unwrap_or(usual.fallback),
        ending_tool: match config.call_user || profile(setup, options)?.extras.contains(&CALL_USER) {
            true => EndingTool::Always,
            false => EndingTool::WhenNeeded,
        },
        reflection: config
            .reflection
            .or(of_guests.first(|settings| settings.reflection)?)
            .unwrap_or(true)
            .then(|| setup.folders.data.join("reflection.md")),
        max_retries: config.max_retries.unwrap_or(usual.max_retries),
        idle_timeout: config
            .idle_timeout
            .as_ref()
            .map(|seconds| Duration::from_secs(*seconds.get_ref())),
        output_limit: output_limit(setup, home).unwrap_or(usual.output_limit),
        preview_chars: of_guests
            .first(|settings| settings.preview_chars)?
            .unwrap_or(usual.preview_chars),
        cache_max_age: setup.config.cache.max_age().unwrap_or(usual.cache_max_age),
        options: request_options(setup, options, home)?,
        wording: profile(setup, options)?.wording,
        approval: approval(setup, options, surroundings)?,
        subagents: subagents(setup),
        pricing: setup.model_lists().pricing(setup.prices()),
        ..usual
    })
}

/// Whether the user sits at a terminal and can end a prompt that takes too long.
fn is_attended(options: &RunOptions, surroundings: &Surroundings) -> bool {
    surroundings.stdin_is_terminal && !options.json && options.client.is_none()
}

/// The user's name, as the settings of another system say.
fn user_name(setup: &Setup) -> Result<Option<String>, CliError> {
    let of_guests = &setup.guest_settings;
    let of_context = of_guests.context.as_ref();
    let name = of_context
        .and_then(|settings| settings.user_name.clone())
        .or(setup.context.username.clone())
        .or(of_guests.home()?.and_then(|home| home.user_name.clone()));
    Ok(name.filter(|name| !name.is_empty()))
}

/// The longest output in bytes that is not put aside, as the settings say.
pub(crate) fn output_limit(setup: &Setup, home: Option<&RunSettings>) -> Option<usize> {
    let context = setup.guest_settings.context.as_ref();
    context
        .and_then(|settings| settings.output_limit)
        .or(setup.config.tools.output_limit)
        .or(home.and_then(|home| home.output_limit))
}

/// Options of requests to the model, such as its temperature.
pub(crate) fn request_options(
    setup: &Setup,
    options: &RunOptions,
    home: Option<&RunSettings>,
) -> Result<RequestOptions, CliError> {
    let (config, of_guests) = (&setup.config.agent, &setup.guest_settings);
    Ok(RequestOptions {
        temperature: setup
            .context
            .temperature
            .as_ref()
            .map(|degree| *degree.get_ref())
            .or(config.temperature)
            .or(home.and_then(|home| home.request.temperature)),
        max_tokens: setup
            .context
            .max_tokens
            .or(config.max_tokens)
            .or(home.and_then(|home| home.request.max_tokens)),
        top_p: of_guests.first(|settings| settings.request.top_p)?,
        frequency_penalty: of_guests.first(|settings| settings.request.frequency_penalty)?,
        presence_penalty: of_guests.first(|settings| settings.request.presence_penalty)?,
        parallel_tool_calls: of_guests.first(|settings| settings.request.parallel_tool_calls)?,
        thinking: options.thinking,
        ..RequestOptions::default()
    })
}

/// The system prompt, as the command line and the settings say.
pub(crate) fn instructions(
    setup: &Setup,
    options: &RunOptions,
    surroundings: &Surroundings,
    usual: &str,
) -> Result<String, CliError> {
    let mut instructions = match &options.system_prompt {
        Some(words) => text_or_file(words, surroundings)?,
        None => setup
            .config
            .agent
            .instructions
            .clone()
            .or(setup
                .guest_settings
                .first(|settings| settings.instructions.clone())?)
            .unwrap_or(usual.to_owned()),
    };
    for words in &options.append_system_prompt {
        instructions.push_str("\n\n");
        instructions.push_str(&text_or_file(words, surroundings)?);
    }
    Ok(instructions)
}

/// The limits of sub-agents, as the settings say.
pub(crate) fn subagents(setup: &Setup) -> SubagentSettings {
    let usual = SubagentSettings::default();
    let config = &setup.config.subagents;
    SubagentSettings {
        max_depth: config.max_depth.unwrap_or(usual.max_depth),
        max_parallel: config.max_parallel.map_or(usual.max_parallel, NonZeroU32::get),
        max_turns: config.max_turns.map_or(usual.max_turns, NonZeroU32::get),
        token_budget: config.token_budget.map(NonZeroU64::get),
    }
}

/// Where a permission mode allows no edit: what decides about later runs, and what hooks are made of.
pub(crate) fn protected(setup: &Setup, options: &RunOptions, surroundings: &Surroundings) -> ProtectedPlaces {
    let mut places = ProtectedPlaces::default();
    let hidden = options.hosts.iter().flat_map(|host| host.hidden_folders());
    let settings = SETTINGS.iter().filter(|name| !name.contains('/'));
    places
        .names
        .extend(hidden.chain(settings).map(|name| (*name).to_owned()));
    let guests = setup
        .found
        .all()
        .into_iter()
        .map(|(_, guest)| guest_file(&guest.file));
    let judged = setup.found.judged().into_iter();
    let judged = judged.flat_map(|judged| judged.item.files.into_keys().chain([judged.item.source]));
    let of_project = judged.map(|file| setup.project_root.join(guest_file(Path::new(&file))));
    let folders = &setup.folders;
    let own = [folders.config_file(), folders.data.clone()];
    // Where the user's whole home is the project, anything may be settings of something.
    let home = surroundings.variable("HOME").map(PathBuf::from);
    let home = home.filter(|home| home.starts_with(&surroundings.cwd));
    let all = guests
        .chain(of_project)
        .chain(own)
        .chain(home.map(|_| surroundings.cwd.clone()));
    places.paths = all
        .map(|path| surroundings.cwd.join(path))
        .map(|path| becket_fs::canonicalize(&path).unwrap_or(path))
        .collect();
    places
}

/// The file of a guest; a hook of becket's own is shown with its line.
fn guest_file(shown: &Path) -> PathBuf {
    let text = shown.display().to_string();
    match text.rsplit_once(':') {
        Some((file, line)) if line.parse::<u32>().is_ok() => PathBuf::from(file),
        _ => shown.to_path_buf(),
    }
}

/// The user's rules with those stored for the project, the trusted project's, the agent file's and those of
/// docker-agent's settings together.
pub(crate) fn approval(
    setup: &Setup,
    options: &RunOptions,
    surroundings: &Surroundings,
) -> Result<ApprovalSettings, CliError> {
    let all = |pick: fn(&PermissionsConfig) -> &Vec<Spanned<String>>| -> Vec<String> {
        let rules = setup.permissions().flat_map(pick);
        rules.map(|rule| rule.get_ref().clone()).collect()
    };
    let rules = Rules::parse(
        &all(|list| &list.deny),
        &all(|list| &list.allow),
        &all(|list| &list.ask),
    )
    .map_err(|message| CliError::usage(format!("permissions: {message}")))?;
    let (home, profile) = (surroundings.variable("HOME"), profile(setup, options)?);
    let reading = RuleReading {
        home: home.as_deref().map(Path::new),
        profile: &profile,
    };
    let rules = setup.found.add_rules(rules, &reading)?;
    let of_guests = setup.guest_settings.first(|settings| {
        let folders = &settings.readable;
        (!folders.is_empty()).then(|| folders.clone())
    })?;
    let keeper = StoredRules::of_project(&setup.folders);
    let (stored, remarks) = keeper.counting();
    tell(remarks, surroundings);
    stored
        .iter()
        .try_for_each(|rule| rules.store(rule))
        .map_err(CliError::failed)?;
    let readable = setup.permissions().flat_map(|list| &list.readable);
    let readable = readable
        .chain(of_guests.iter().flatten())
        .map(|folder| becket_fs::canonicalize(folder).unwrap_or_else(|_| folder.clone()))
        .collect();
    Ok(ApprovalSettings {
        urls: url_judge(setup)?,
        rules,
        mode: options.permission_mode.clone(),
        protected: protected(setup, options, surroundings),
        readable,
        installed: Vec::new(),
        home: home.map(PathBuf::from).filter(|home| home.is_absolute()),
        keeper: Some(Arc::new(keeper)),
        refused: Default::default(),
    })
}
