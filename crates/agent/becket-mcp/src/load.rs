//! Turns servers into tools: remembered ones, or by asking servers of which none are remembered.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::join_all;

use crate::catalogue::{Catalogue, Known};
use crate::offer::Offer;
use crate::server::Server;
use crate::settings::{ServerSettings, WebAccess};
use crate::tool::McpTool;

/// When servers are asked for their tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// When nothing is known of them.
    WhenUnknown,
    /// Always, even if their tools are remembered.
    Always,
    /// Never.
    Never,
}

/// Settings for loading servers.
#[derive(Clone)]
pub struct LoadSettings {
    /// The file in which the servers' tools are remembered.
    pub cache: PathBuf,
    /// The working directory, which servers are told.
    pub directory: PathBuf,
    /// Makes clients for web addresses.
    pub access: WebAccess,
    /// When servers are asked for their tools.
    pub asking: Asking,
}

/// Something about a server that the user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The server's name.
    pub server: String,
    /// The message for the user.
    pub message: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "MCP server {}: {}", self.server, self.message)
    }
}

/// The servers of a run.
#[derive(Default)]
pub struct Servers {
    loaded: Vec<Loaded>,
    remarks: Vec<Remark>,
}

struct Loaded {
    server: Arc<Server>,
    offers: Vec<Offer>,
}

impl Servers {
    /// Loads the tools of servers. Those that have to be asked are asked at the same time.
    pub async fn load(servers: Vec<ServerSettings>, settings: &LoadSettings) -> Self {
        let catalogue = Catalogue::new(settings.cache.clone());
        let loading = servers.into_iter().map(|server| {
            let (access, directory) = (Arc::clone(&settings.access), settings.directory.clone());
            load_one(
                Server::new(server, access, catalogue.clone(), directory),
                settings.asking,
            )
        });
        let mut all = Self::default();
        for (loaded, remarks) in join_all(loading).await {
            let server = loaded.server.settings().name.clone();
            let remark = |message| Remark {
                server: server.clone(),
                message,
            };
            all.remarks.extend(remarks.into_iter().map(remark));
            all.loaded.push(loaded);
        }
        all
    }

    /// The servers, in the order in which they were given.
    pub fn all(&self) -> impl Iterator<Item = &Server> {
        self.loaded.iter().map(|loaded| &*loaded.server)
    }

    /// The server with that name.
    pub fn named(&self, name: &str) -> Option<&Server> {
        self.all().find(|server| server.settings().name == name)
    }

    /// The tools that a server offers, as the server describes them.
    pub fn offers(&self, server: &str) -> &[Offer] {
        let loaded = self
            .loaded
            .iter()
            .find(|loaded| loaded.server.settings().name == server);
        loaded.map_or(&[], |loaded| &loaded.offers)
    }

    /// Remarks about the servers for the user.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// The tools of all servers, in their order.
    pub fn tools(&self) -> Vec<Arc<McpTool>> {
        let tools = self.loaded.iter().flat_map(|loaded| {
            let make = |offer: &Offer| Arc::new(McpTool::new(offer.clone(), Arc::clone(&loaded.server)));
            loaded.offers.iter().map(make)
        });
        tools.collect()
    }

    /// Ends the servers that run.
    pub async fn close(&self) {
        join_all(self.loaded.iter().map(|loaded| loaded.server.close())).await;
    }
}

async fn load_one(server: Server, asking: Asking) -> (Loaded, Vec<String>) {
    if !server.settings().is_offered {
        let (server, offers) = (Arc::new(server), Vec::new());
        return (Loaded { server, offers }, Vec::new());
    }
    let known = match asking {
        Asking::Always => Known::Nothing,
        Asking::WhenUnknown | Asking::Never => server.known(),
    };
    let (offers, mut remarks) = match known {
        Known::Offers(offers) => (offers, Vec::new()),
        Known::Failed(failure) => {
            let name = &server.settings().name;
            let remark = format!("it is left out, because it failed a short while ago: {failure}");
            (
                Vec::new(),
                vec![format!("{remark}. `becket mcp check {name}` tries it again")],
            )
        }
        Known::Nothing if asking == Asking::Never => (Vec::new(), Vec::new()),
        Known::Nothing => match server.ask().await {
            Ok(offers) => (offers.tools, offers.left_out),
            Err(failure) => (Vec::new(), vec![format!("it is left out: {failure}")]),
        },
    };
    let filter = &server.settings().filter;
    let offers: Vec<Offer> = offers
        .into_iter()
        .filter(|offer| filter.offers(&offer.name))
        .collect();
    let server = Arc::new(server);
    remarks.dedup();
    (Loaded { server, offers }, remarks)
}
