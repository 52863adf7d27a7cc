//! The socket at which becket programs that guests start ask the models of this run, since guests see no keys.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use becket_agent::provider::Provider;
use becket_events::RequestForm;
use becket_hook::{RUNTIME_VARIABLE, runtime_folder};
use becket_providers::relay::{self, ModelLookup};
use becket_providers::{ProviderSettings, api};
use becket_system::Surroundings;
use becket_tools::Models;
use tokio::net::UnixListener;
use tokio_util::task::AbortOnDropHandle;

/// The variable that holds the path of the socket.
pub const SOCKET_VARIABLE: &str = "BECKET_MODEL_SOCKET";

/// The name of a socket, which no other run has.
pub(crate) fn socket_name() -> String {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    format!("model-{}-{run}.sock", std::process::id())
}

/// The path of the socket of that name; the error says why there is no folder for it.
pub(crate) fn socket(name: &str, surroundings: &Surroundings) -> Result<PathBuf, String> {
    let runtime = surroundings.variable(RUNTIME_VARIABLE);
    let folder = runtime_folder(runtime.as_deref().map(AsRef::as_ref));
    folder
        .map(|folder| folder.join(name))
        .map_err(|error| error.to_string())
}

/// Answers at a socket until it is dropped.
pub(crate) struct ModelRelay {
    socket: PathBuf,
    _serving: AbortOnDropHandle<()>,
}

impl ModelRelay {
    /// Begins to answer with the models of a run.
    pub(crate) fn start(
        socket: PathBuf,
        (own, models): (Arc<dyn Provider>, Models),
        settings: ProviderSettings,
    ) -> std::io::Result<Self> {
        // The path has the number of this process: whatever lies there was left by one that is gone.
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket)?;
        let lookup: ModelLookup = Arc::new(move |name| {
            let own_name = format!("{}/{}", own.name(), own.model());
            let provider = match name {
                Some(name) if name != own_name => models(name)?,
                _ => Arc::clone(&own),
            };
            match provider.form() {
                RequestForm::Wire => {
                    let api = api(provider.name(), &settings);
                    Ok((provider, api))
                }
                _ => Err(format!("{} is a model of an extension", provider.model())),
            }
        });
        Ok(Self {
            socket,
            _serving: AbortOnDropHandle::new(tokio::spawn(relay::serve(listener, lookup))),
        })
    }
}

impl Drop for ModelRelay {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}
