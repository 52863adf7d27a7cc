//! The MCP servers of the settings, of the chibi home and of agent files: how they are reached, and their tools beside
//! becket's own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::tool::Tool;
use becket_agent::url_policy::{JudgedUrl, UrlClass, UrlJudge, UrlVerdict};
use becket_chibi::{BRIDGE_SECONDS, BridgeReach, bridge_file, read_bridge};
use becket_docker_agent::McpReach;
use becket_events::Profile;
use becket_hooks::Program;
use becket_mcp::{
    Asking, Headers, LoadSettings, McpTool, Prefix, Reach, Remark, Secrets, ServerSettings, Servers,
    ToolFilter, tool_name,
};
use becket_system::Surroundings;
use becket_tools::client_for;
use toml::Spanned;
use url::Url;

use crate::assemble::{Setup, unknown_tool};
use crate::config::McpServerConfig;
use becket_chibi::stands_in;
use becket_docker_agent::{TeamFile, TeamServer};

/// How many seconds a server may take to start, and for a call, where nothing is said.
const START_SECONDS: u64 = 10;
const CALL_SECONDS: u64 = 60;

/// How much is shown of the name that a server gives a tool which is not offered.
const LONGEST_SHOWN_NAME: usize = 100;

/// Of how many such tools is told.
const MOST_REMARKS: usize = 20;

/// The servers of a run, and what is wrong with those that could not be made of the settings.
#[derive(Default)]
pub struct RunServers {
    pub servers: Servers,
    pub faults: Vec<Remark>,
}

impl RunServers {
    /// Finds the servers, and asks those of which nothing is known what they offer.
    pub async fn load(setup: &Setup, surroundings: &Surroundings, asking: Asking) -> Self {
        let (servers, faults) = configured(setup, surroundings);
        Self {
            servers: load(setup, surroundings, servers, asking).await,
            faults,
        }
    }

    /// The same for one server alone.
    pub async fn load_one(setup: &Setup, surroundings: &Surroundings, asking: Asking, name: &str) -> Self {
        let (mut servers, mut faults) = configured(setup, surroundings);
        servers.retain(|server| server.name == name);
        faults.retain(|fault| fault.server == name);
        Self {
            servers: load(setup, surroundings, servers, asking).await,
            faults,
        }
    }

    /// What the person should know.
    pub fn remarks(&self) -> impl Iterator<Item = &Remark> {
        self.faults.iter().chain(self.servers.remarks())
    }

    /// Whether a server has a tool of this name.
    pub fn has_tool(&self, name: &str) -> bool {
        self.tool_names().iter().any(|tool| tool == name)
    }

    /// The names of the tools of all servers.
    pub fn tool_names(&self) -> Vec<String> {
        let tools = self.servers.tools().into_iter();
        tools.map(|tool| tool.spec().face.name.clone()).collect()
    }

    /// The other server as whose a tool would be taken by its name: the rules of that one are not for this one's tools.
    fn whose_name(&self, server: &str, tool: &str) -> Option<&str> {
        let loaded = self.servers.all().map(|other| other.settings().name.as_str());
        let mut others = loaded.chain(self.faults.iter().map(|fault| fault.server.as_str()));
        others.find(|other| other.len() > server.len() && tool.starts_with(&tool_name(other, "")))
    }

    /// Adds the tools of all servers to those that are there, and says which could not be added. A name that is taken
    /// stays with who has it: becket's own tools and those of other systems that mean the same, then plugins, then the
    /// servers in their order.
    pub fn add_tools(&self, profile: &Profile, tools: &mut Vec<Arc<dyn Tool>>) -> Vec<Remark> {
        let mut refused = Vec::new();
        for tool in self.servers.tools() {
            let Some(why) = self.why_not(&tool, profile, tools) else {
                tools.push(tool);
                continue;
            };
            let name: String = tool.name().chars().take(LONGEST_SHOWN_NAME).collect();
            let advice = "another name of the server would tell them apart";
            refused.push(Remark {
                server: tool.server().to_owned(),
                message: format!("its tool {name:?} is not offered: {why}; {advice}"),
            });
        }
        if refused.len() > MOST_REMARKS {
            refused.truncate(MOST_REMARKS);
            refused.push(Remark {
                server: "*".into(),
                message: "further tools are not offered; `becket mcp tools` shows them".into(),
            });
        }
        refused
    }

    /// Why a tool cannot have its name.
    fn why_not(&self, tool: &McpTool, profile: &Profile, tools: &[Arc<dyn Tool>]) -> Option<String> {
        let name = &tool.spec().face.name;
        if let Some(other) = self.whose_name(tool.server(), name) {
            return Some(format!("{name} looks like a tool of the server {other}"));
        }
        let own = unknown_tool(name).is_none() || stands_in(name, profile);
        let owner = tools.iter().find(|other| other.spec().face.name == *name);
        let owner = owner.map(|owner| owner.spec().source.clone());
        let owner = owner.or_else(|| own.then(|| "becket".to_owned()));
        owner.map(|owner| format!("{name} is a name of {owner}'s"))
    }
}

async fn load(
    setup: &Setup,
    surroundings: &Surroundings,
    servers: Vec<ServerSettings>,
    asking: Asking,
) -> Servers {
    let judge = setup.url_judge().map_err(|error| error.to_string());
    let settings = LoadSettings {
        cache: setup.folders.server_cache_file(),
        directory: surroundings.cwd.clone(),
        access: Arc::new(move |url| {
            let judge = judge.clone();
            Box::pin(async move { client_for(&judged(judge?, &url).await?) })
        }),
        asking,
    };
    Servers::load(servers, &settings).await
}

/// The place of a server that the person has named. What their policy denies stays denied; otherwise it may be anywhere
/// but there, where machines keep their own keys.
async fn judged(judge: UrlJudge, url: &Url) -> Result<JudgedUrl, String> {
    let place = judge.judge(url.as_str()).await?;
    let is_ruled = place.ruling().rule != "default";
    if let Some(why) = place.denied().filter(|_| is_ruled) {
        return Err(why);
    }
    if place.class() == Some(UrlClass::CloudMetadata) && place.ruling().verdict != UrlVerdict::Allow {
        return Err("its address is the one at which machines in a cloud find their keys".into());
    }
    Ok(place)
}

/// The servers that are switched on, by their names. Those of the settings stand in for those of the chibi home; an
/// agent file has its own, and nothing else.
fn configured(setup: &Setup, surroundings: &Surroundings) -> (Vec<ServerSettings>, Vec<Remark>) {
    let mut servers = Vec::new();
    let mut faults = Vec::new();
    let mut keep = |name: &str, made: Result<ServerSettings, String>| match made {
        Ok(server) => servers.push(server),
        Err(why) => faults.push(Remark {
            server: name.to_owned(),
            message: format!("it is left out: {why}"),
        }),
    };
    if let Some(team) = &setup.team {
        for server in team.servers() {
            keep(&server.name, from_agent_file(server, team, setup, surroundings));
        }
        return (servers, faults);
    }
    let own = &setup.config.mcp.servers;
    for (name, config) in own {
        let config = config.get_ref();
        if config.enabled != Some(false) {
            keep(name, from_settings(name, config, setup, surroundings));
        }
    }
    let home = setup.chibi_home.as_deref();
    let home = home.filter(|_| setup.config.mcp.bridge != Some(false));
    match home.map(|home| (home, read_bridge(home))) {
        None => {}
        Some((home, Ok(bridge))) => {
            for server in bridge
                .into_iter()
                .filter(|server| !own.contains_key(&server.name))
            {
                let made = server
                    .reach
                    .and_then(|reach| from_bridge(&server.name, reach, home, setup, surroundings));
                keep(&server.name, made);
            }
        }
        Some((_, Err(why))) => faults.push(Remark {
            server: "*".into(),
            message: why,
        }),
    }
    servers.sort_by(|one, other| one.name.cmp(&other.name));
    (servers, faults)
}

fn from_settings(
    name: &str,
    config: &McpServerConfig,
    setup: &Setup,
    surroundings: &Surroundings,
) -> Result<ServerSettings, String> {
    let folder = &setup.folders.config;
    let variables = Variables::of(surroundings);
    let reach = match (&config.command, &config.url) {
        (Some(command), _) => {
            let directory = match &config.cwd {
                Some(cwd) => folder.join(variables.expand(cwd)?),
                None => folder.clone(),
            };
            let args = config.args.iter().map(|text| variables.expand(text));
            let words = (variables.expand(command)?, args.collect::<Result<_, _>>()?);
            let env = variables.expand_values(&config.env)?;
            program(words, &env, folder, directory, (setup, surroundings))
        }
        (None, Some(url)) => web(
            &variables.expand(url)?,
            &variables.expand_values(&config.headers)?,
        )?,
        (None, None) => return Err("its entry has neither `command` nor `url`".into()),
    };
    let seconds = |set: &Option<Spanned<u64>>, usual| {
        Duration::from_secs(set.as_ref().map_or(usual, |seconds| *seconds.get_ref()))
    };
    Ok(ServerSettings {
        name: name.to_owned(),
        prefix: Prefix::Server,
        origin: setup.folders.config_file().display().to_string(),
        reach,
        start_timeout: seconds(&config.start_timeout, START_SECONDS),
        call_timeout: seconds(&config.timeout, CALL_SECONDS),
        filter: ToolFilter::read(&config.tools.allow, &config.tools.deny)?,
        secrets: Secrets(variables.named.into_inner()),
    })
}

fn from_bridge(
    name: &str,
    reach: BridgeReach,
    home: &Path,
    setup: &Setup,
    surroundings: &Surroundings,
) -> Result<ServerSettings, String> {
    let reach = match reach {
        BridgeReach::Program { command, args } => program(
            (command, args),
            &[],
            home,
            home.to_path_buf(),
            (setup, surroundings),
        ),
        BridgeReach::Web { url, headers } => web(&url, &headers.into_iter().collect::<Vec<_>>())?,
    };
    Ok(ServerSettings {
        name: name.to_owned(),
        prefix: Prefix::Server,
        origin: bridge_file(home).display().to_string(),
        reach,
        start_timeout: Duration::from_secs(START_SECONDS),
        call_timeout: Duration::from_secs(BRIDGE_SECONDS),
        filter: ToolFilter::default(),
        secrets: Secrets::default(),
    })
}

fn from_agent_file(
    server: &TeamServer,
    team: &TeamFile,
    setup: &Setup,
    surroundings: &Surroundings,
) -> Result<ServerSettings, String> {
    let variables = Variables::of(surroundings);
    let reach = match &server.definition.reach {
        McpReach::Program {
            command,
            args,
            env,
            working_dir,
        } => {
            let directory = match working_dir {
                Some(folder) => surroundings.cwd.join(variables.expand(folder)?),
                None => surroundings.cwd.clone(),
            };
            let args = args.iter().map(|text| variables.expand(text));
            let words = (variables.expand(command)?, args.collect::<Result<_, _>>()?);
            let env = variables.expand_values(env)?;
            program(words, &env, &directory.clone(), directory, (setup, surroundings))
        }
        McpReach::Web { url, headers } => web(&variables.expand(url)?, &variables.expand_values(headers)?)?,
    };
    Ok(ServerSettings {
        name: server.name.clone(),
        prefix: match server.definition.name {
            Some(_) => Prefix::Server,
            None => Prefix::Nothing,
        },
        origin: team.file.path.display().to_string(),
        reach,
        start_timeout: Duration::from_secs(START_SECONDS),
        call_timeout: Duration::from_secs(CALL_SECONDS),
        filter: ToolFilter::default(),
        secrets: Secrets(variables.named.into_inner()),
    })
}

/// A program that runs with the person's environment, without provider keys. A path is seen from the folder of the file
/// that names it, and so is the directory in which it runs: files of the working directory are not the person's.
fn program(
    (command, args): (String, Vec<String>),
    variables: &[(String, String)],
    folder: &Path,
    directory: PathBuf,
    (setup, surroundings): (&Setup, &Surroundings),
) -> Reach {
    let path = match command.contains('/') {
        true => folder.join(&command).into_os_string(),
        false => OsString::from(&command),
    };
    let words = std::iter::once(path).chain(args.iter().map(OsString::from));
    let environment = setup.guest_environment(surroundings).variables;
    let program = Program::exec(words).environment(environment);
    let program = variables
        .iter()
        .fold(program, |program, (name, value)| program.variable(name, value));
    Reach::Program {
        program,
        words: std::iter::once(command).chain(args).collect(),
        variables: variables.iter().map(|(name, _)| name.clone()).collect(),
        directory,
    }
}

fn web(url: &str, headers: &[(String, String)]) -> Result<Reach, String> {
    // The address may hold a key, so that it is not repeated here.
    let url = Url::parse(url).map_err(|error| format!("its `url` is no address: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("its `url` is no address of the web: it begins with http:// or https://".into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("its `url` holds a name or a password; set `headers` instead".into());
    }
    let headers = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    Ok(Reach::Web {
        url,
        headers: Headers::read(headers)?,
    })
}

/// Variables that settings name. What they hold may be a secret and is remembered as one.
struct Variables<'a> {
    surroundings: &'a Surroundings,
    named: RefCell<Vec<String>>,
}

impl<'a> Variables<'a> {
    fn of(surroundings: &'a Surroundings) -> Self {
        Self {
            surroundings,
            named: RefCell::default(),
        }
    }

    /// The text with variables of the environment in the place of `${NAME}` and `${env.NAME}`. `${PWD}` is the working
    /// directory.
    fn expand(&self, text: &str) -> Result<String, String> {
        let mut rest = text;
        let mut whole = String::new();
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) = after.split_once('}').ok_or("a `${` has no `}` behind it")?;
            let name = name.strip_prefix("env.").unwrap_or(name);
            whole.push_str(before);
            if name == "PWD" {
                whole.push_str(&self.surroundings.cwd.display().to_string());
            } else {
                let value = self.surroundings.variable(name);
                let value = value.ok_or_else(|| format!("the variable {name} is not set"))?;
                whole.push_str(&value);
                if !is_no_secret(name, &value) {
                    self.named.borrow_mut().push(value);
                }
            }
            rest = behind;
        }
        whole.push_str(rest);
        Ok(whole)
    }

    fn expand_values(&self, pairs: &BTreeMap<String, String>) -> Result<Vec<(String, String)>, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| Ok((name.clone(), self.expand(value)?)))
            .collect()
    }
}

/// Variables that say where and who one is. A server that works with files says such things all the time.
fn is_no_secret(name: &str, value: &str) -> bool {
    let is_place = |value: &str| Path::new(value).is_absolute() && Path::new(value).exists();
    matches!(name, "HOME" | "USER" | "LOGNAME" | "HOSTNAME" | "SHELL" | "LANG") || is_place(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_stand_where_they_are_named() {
        let surroundings = Surroundings {
            variables: [("TOKEN".into(), "t".into()), ("EMPTY".into(), "".into())].into(),
            cwd: "/work".into(),
            stdin_is_terminal: false,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            signals: Default::default(),
            screen: Default::default(),
        };
        for (text, wanted) in [
            ("plain $TOKEN", Ok("plain $TOKEN")),
            ("Bearer ${TOKEN}", Ok("Bearer t")),
            ("${TOKEN}${TOKEN}/x", Ok("tt/x")),
            ("Bearer ${env.TOKEN}", Ok("Bearer t")),
            ("${PWD}/x", Ok("/work/x")),
            ("${MISSING}", Err("the variable MISSING is not set")),
            ("${EMPTY}", Err("the variable EMPTY is not set")),
            ("${TOKEN", Err("a `${` has no `}` behind it")),
        ] {
            let found = Variables::of(&surroundings).expand(text);
            assert_eq!(found.as_deref().map_err(String::as_str), wanted, "{text}");
        }
    }
}
