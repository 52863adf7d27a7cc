//! Finds MCP servers, starts them, and offers their tools.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::tool::Tool;
use becket_agent::url_policy::{JudgedUrl, UrlClass, UrlJudge, UrlVerdict};
use becket_hooks::{CommandLine, HookEnvironment, Program, Section};
use becket_host::{
    DeclaredServer, Found, FoundGuest, GuestSearch, Guests, Host, Loading, Reached, Report, ServerCall,
    ServerCalls, ServerTool, Toolbox, unknown_server,
};
use becket_mcp::{
    Asking, Headers, LoadSettings, McpTool, Prefix, Reach, Remark, Secrets, ServerSettings, Servers,
    ToolFilter, tool_name,
};
use becket_system::{CliError, Variables};
use becket_tools::client_for;
use futures_util::future::BoxFuture;
use toml::Spanned;
use url::Url;

use crate::config::{McpConfig, McpServerConfig, McpTransport};

/// How many seconds a server may take to start by default.
const START_SECONDS: u64 = 10;
/// How many seconds a call may take by default.
const CALL_SECONDS: u64 = 60;

/// How many characters are shown of a tool's name in a remark that the tool is not offered.
const LONGEST_SHOWN_NAME: usize = 100;

/// How many tools that are not offered are named in remarks.
const MOST_REMARKS: usize = 20;

/// The servers of a run, and the faults of those whose settings cannot be used.
#[derive(Default)]
pub struct RunServers {
    pub servers: Servers,
    pub faults: Vec<Remark>,
}

impl RunServers {
    /// All remarks for the user.
    pub fn all_remarks(&self) -> impl Iterator<Item = &Remark> {
        self.faults.iter().chain(self.servers.remarks())
    }

    /// The other server that a tool seems to belong to by its name: the rules for that server must not apply to this
    /// tool.
    fn whose_name(&self, server: &str, tool: &str) -> Option<&str> {
        let loaded = self.servers.all().map(|other| other.settings().name.as_str());
        let mut others = loaded.chain(self.faults.iter().map(|fault| fault.server.as_str()));
        others.find(|other| other.len() > server.len() && tool.starts_with(&tool_name(other, "")))
    }

    /// Adds the tools of all servers to the toolbox, and returns which could not be added. A name that is taken stays
    /// with its owner: becket's own tools and those of other systems that mean the same, then plugins, then the servers
    /// in their order.
    fn offer_tools(&self, toolbox: &mut Toolbox<'_>) -> Vec<Remark> {
        let mut refused = Vec::new();
        for tool in self.servers.tools() {
            let Some(why) = self.why_not(&tool, toolbox) else {
                toolbox.tools.push(tool);
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

    /// Why a tool cannot have its name, if it cannot.
    fn why_not(&self, tool: &McpTool, toolbox: &Toolbox<'_>) -> Option<String> {
        let name = &tool.spec().face.name;
        if let Some(other) = self.whose_name(tool.server(), name) {
            return Some(format!("{name} looks like a tool of the server {other}"));
        }
        let own = toolbox.own_names.contains(&name.as_str()) || toolbox.stands_in(name);
        let owner = toolbox.tool(name).map(|owner| owner.spec().source.clone());
        let owner = owner.or_else(|| own.then(|| "becket".to_owned()));
        owner.map(|owner| format!("{name} is a name of {owner}'s"))
    }
}

/// Finds MCP servers.
pub struct ServerHost;

impl Host for ServerHost {
    fn kind(&self) -> &'static str {
        "MCP server"
    }

    fn sections(&self) -> &'static [Section] {
        const { &[Section::of::<McpConfig>()] }
    }

    fn find(&self, place: &GuestSearch<'_>) -> Result<Box<dyn Found>, CliError> {
        let config: McpConfig = place.section()?;
        Ok(Box::new(FoundServers { config }))
    }
}

/// The servers in the settings.
pub struct FoundServers {
    config: McpConfig,
}

impl Found for FoundServers {
    fn guests(&self) -> Vec<FoundGuest> {
        let servers = self.config.servers.iter();
        let servers = servers.filter(|(_, config)| config.get_ref().enabled != Some(false));
        servers
            .map(|(name, config)| FoundGuest {
                name: name.clone(),
                file: config.get_ref().command.clone().unwrap_or_default().into(),
                is_trusted: true,
            })
            .collect()
    }

    fn load<'a>(&'a self, loading: &'a Loading<'a>) -> BoxFuture<'a, Result<Arc<dyn Guests>, CliError>> {
        Box::pin(async move { Ok(Arc::new(self.load_servers(loading, None).await) as Arc<dyn Guests>) })
    }
}

impl FoundServers {
    /// Asks the servers that are not in the cache for their tools; or only the server with the given name.
    pub async fn load_servers(&self, loading: &Loading<'_>, only: Option<&str>) -> RunServers {
        let (mut servers, mut faults) = self.configured(loading);
        if let Some(name) = only {
            servers.retain(|server| server.name == name);
            faults.retain(|fault| fault.server == name);
        }
        let judge = loading.urls.clone();
        let settings = LoadSettings {
            cache: loading.place.folders.server_cache_file(),
            directory: loading.place.surroundings.cwd.clone(),
            access: Arc::new(move |url| {
                let judge = judge.clone();
                Box::pin(async move { client_for(&judged(judge, &url).await?) })
            }),
            asking: match loading.asking {
                becket_host::Asking::Always => Asking::Always,
                becket_host::Asking::WhenChanged => Asking::WhenUnknown,
                becket_host::Asking::Never => Asking::Never,
            },
        };
        RunServers {
            servers: Servers::load(servers, &settings).await,
            faults,
        }
    }

    /// The enabled servers, sorted by name. Servers in the settings replace those with the same name that guests
    /// declare; an agent file has its own servers, and no others.
    fn configured(&self, loading: &Loading<'_>) -> (Vec<ServerSettings>, Vec<Remark>) {
        let own = &self.config.servers;
        let (mut made, mut faults) = (Vec::new(), Vec::new());
        if !loading.has_agent_file {
            let own = own.iter().map(|(name, config)| (name, config.get_ref()));
            let own = own.filter(|(_, config)| config.enabled != Some(false));
            made.extend(own.map(|(name, config)| (name.clone(), from_settings(name, config, loading))));
        }
        let is_used = loading.has_agent_file || self.config.bridge != Some(false);
        let stands_in = |name: &str| !loading.has_agent_file && own.contains_key(name);
        for (name, declared) in loading
            .servers
            .iter()
            .filter(|(name, _)| is_used && !stands_in(name))
        {
            match declared {
                // The fault concerns a whole file: it is unknown which servers are missing.
                Err(why) if name == "*" => faults.push(Remark {
                    server: name.clone(),
                    message: why.clone(),
                }),
                Err(why) => made.push((name.clone(), Err(why.clone()))),
                Ok(declared) => made.push((name.clone(), from_guest(name, declared, loading))),
            }
        }
        let mut servers = Vec::new();
        for (name, made) in made {
            match made {
                Ok(server) => servers.push(server),
                Err(why) => faults.push(Remark {
                    server: name,
                    message: format!("it is left out: {why}"),
                }),
            }
        }
        if !loading.has_agent_file {
            servers.sort_by(|one, other| one.name.cmp(&other.name));
        }
        (servers, faults)
    }
}

impl Guests for RunServers {
    fn remarks(&self) -> Vec<String> {
        self.all_remarks().map(ToString::to_string).collect()
    }

    fn add_tools(&self, toolbox: &mut Toolbox<'_>) -> Vec<String> {
        let refused = self.offer_tools(toolbox);
        refused.iter().map(ToString::to_string).collect()
    }

    fn tool_names(&self) -> Vec<String> {
        let tools = self.servers.tools().into_iter();
        tools.map(|tool| tool.spec().face.name.clone()).collect()
    }

    fn server_tools(&self, server: &str) -> Vec<ServerTool> {
        let tools = self.servers.tools().into_iter();
        let tools = tools.filter(|tool| tool.server() == server);
        tools
            .map(|tool| (tool.name().to_owned(), tool as Arc<dyn Tool>))
            .collect()
    }

    fn server_calls(self: Arc<Self>) -> Option<Arc<dyn ServerCalls>> {
        Some(self)
    }

    fn may_still_bring(&self, tool: &str) -> bool {
        let is_from = |server: &str| server == "*" || tool.starts_with(&tool_name(server, ""));
        let offered = self.servers.all().map(|server| server.settings());
        let mut silent = offered.filter(|settings| settings.is_offered);
        let is_silent = |server: &str| self.servers.offers(server).is_empty();
        self.faults.iter().any(|fault| is_from(&fault.server))
            || silent.any(|server| {
                is_silent(&server.name) && (server.prefix == Prefix::Nothing || is_from(&server.name))
            })
    }

    fn reports(&self) -> Vec<Report> {
        let is_well = |name: &str| !self.all_remarks().any(|remark| remark.server == name);
        let servers = self.servers.all().map(|server| server.settings());
        let servers = servers
            .filter(|settings| is_well(&settings.name))
            .map(|settings| {
                let count = self.servers.offers(&settings.name).len();
                let (name, place, origin) = (&settings.name, settings.place(), &settings.origin);
                Report::new(
                    format!("MCP server {name} ({place}, {origin}): {count} tools"),
                    None,
                )
            });
        let remarks = self.all_remarks();
        let remarks = remarks.map(|remark| {
            Report::new(
                format!("MCP server {}", remark.server),
                Some(remark.message.clone()),
            )
        });
        servers.chain(remarks).collect()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.servers.close())
    }
}

impl ServerCalls for RunServers {
    fn knows(&self, server: &str) -> bool {
        self.servers.named(server).is_some()
    }

    fn call<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let fault = self.faults.iter().find(|fault| fault.server == call.server);
            match (self.servers.named(call.server), fault) {
                (Some(server), _) => server.text(call.tool, call.arguments, call.limit).await,
                (None, Some(fault)) => Err(fault.to_string()),
                (None, None) => Err(unknown_server(call.server)),
            }
        })
    }
}

/// Checks the address of a server that the user has configured. A rule of the user's policy that denies it counts;
/// otherwise every address is allowed but the one where machines in a cloud find their keys.
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

fn from_settings(
    name: &str,
    config: &McpServerConfig,
    loading: &Loading<'_>,
) -> Result<ServerSettings, String> {
    let folder = &loading.place.folders.config;
    let variables = Variables::of(loading.place.surroundings);
    let reach = match (&config.command, &config.url) {
        (Some(command), _) => {
            let directory = match &config.cwd {
                Some(cwd) => folder.join(variables.expand(cwd)?),
                None => folder.clone(),
            };
            let args = config.args.iter().map(|text| variables.expand(text));
            let words = (variables.expand(command)?, args.collect::<Result<_, _>>()?);
            let env = variables.expand_values(&config.env)?;
            program(words, &env, folder, directory, loading)
        }
        (None, Some(url)) => web(
            &variables.expand(url)?,
            &variables.expand_values(&config.headers)?,
            config.transport == McpTransport::Sse,
        )?,
        (None, None) => return Err("its entry has neither `command` nor `url`".into()),
    };
    let seconds = |set: &Option<Spanned<u64>>, usual| {
        Duration::from_secs(set.as_ref().map_or(usual, |seconds| *seconds.get_ref()))
    };
    Ok(ServerSettings {
        name: name.to_owned(),
        prefix: Prefix::Server,
        origin: loading.place.settings.file.display().to_string(),
        is_offered: true,
        reach,
        start_timeout: seconds(&config.start_timeout, START_SECONDS),
        call_timeout: seconds(&config.timeout, CALL_SECONDS),
        filter: ToolFilter::read(&config.tools.allow, &config.tools.deny)?,
        secrets: Secrets(variables.named()),
    })
}

fn from_guest(
    name: &str,
    declared: &DeclaredServer,
    loading: &Loading<'_>,
) -> Result<ServerSettings, String> {
    let reach = match &declared.reached {
        Reached::Program {
            command,
            args,
            variables,
            folder,
            directory,
        } => program(
            (command.clone(), args.clone()),
            variables,
            folder,
            directory.clone(),
            loading,
        ),
        Reached::Judged {
            judged,
            command,
            variables,
            directory,
        } => {
            let environment: &HookEnvironment = loading.environment;
            Reach::Program {
                program: loading
                    .place
                    .trust
                    .program(judged, command, variables, environment)?,
                words: match command {
                    CommandLine::Shell(line) => vec![line.clone()],
                    CommandLine::Exec(words) => words.clone(),
                },
                variables: variables.keys().cloned().collect(),
                directory: directory.clone(),
            }
        }
        Reached::Web {
            url,
            headers,
            is_event_stream,
        } => web(url, headers, *is_event_stream)?,
    };
    Ok(ServerSettings {
        name: name.to_owned(),
        prefix: match declared.prefixes_tools {
            true => Prefix::Server,
            false => Prefix::Nothing,
        },
        origin: declared.origin.clone(),
        is_offered: !declared.for_hooks,
        reach,
        start_timeout: Duration::from_secs(START_SECONDS),
        call_timeout: declared.call_timeout.unwrap_or(Duration::from_secs(CALL_SECONDS)),
        filter: ToolFilter::default(),
        secrets: Secrets(declared.secrets.clone()),
    })
}

/// A program that runs with the user's environment, without provider keys. A path is relative to the folder of the file
/// that names it, and so is the working directory: files of the user's working directory may come from somebody else.
fn program(
    (command, args): (String, Vec<String>),
    variables: &[(String, String)],
    folder: &Path,
    directory: PathBuf,
    loading: &Loading<'_>,
) -> Reach {
    let path = match command.contains('/') {
        true => folder.join(&command).into_os_string(),
        false => OsString::from(&command),
    };
    let words = std::iter::once(path).chain(args.iter().map(OsString::from));
    let environment = Arc::clone(&loading.environment.variables);
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

fn web(url: &str, headers: &[(String, String)], is_event_stream: bool) -> Result<Reach, String> {
    // The error does not repeat the address, which may hold a key.
    let url = Url::parse(url).map_err(|error| format!("its `url` is not an address: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("its `url` is not a web address: it must begin with http:// or https://".into());
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
        is_event_stream,
    })
}
