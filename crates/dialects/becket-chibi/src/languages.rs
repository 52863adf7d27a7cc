//! Plugins that read further languages for the code index.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_hooks::{Invocation, Lane, echo_proof};
use becket_index::{Extract, LanguagePlugin};
use futures_util::future::BoxFuture;

use crate::call::{Call, language_arguments, language_of_tool, plugin_lane, tool_variables};
use crate::plugin::{HostFacts, Plugin, TerminalNeed};
use crate::plugins::Plugins;

impl Plugins {
    /// Plugins that read languages for the code index.
    pub fn languages(&self, directory: &Path) -> Vec<Arc<dyn LanguagePlugin>> {
        let Some(found) = &self.found else {
            return Vec::new();
        };
        let plugins = found.loaded.plugins.iter();
        let tools = plugins.flat_map(|plugin| plugin.tools.iter().map(move |tool| (plugin, tool)));
        let readers = tools.filter_map(|(plugin, tool)| {
            let language = language_of_tool(&tool.name)?.to_owned();
            Some(Arc::new(LanguageProgram {
                host: Arc::clone(&found.host),
                plugin: plugin.clone(),
                tool: tool.name.clone(),
                language,
                timeout: found.tool_timeout,
                directory: directory.to_path_buf(),
            }) as Arc<dyn LanguagePlugin>)
        });
        readers.collect()
    }
}

/// A plugin that reads the files of a language.
struct LanguageProgram {
    host: Arc<HostFacts>,
    plugin: Plugin,
    tool: String,
    language: String,
    timeout: Duration,
    directory: PathBuf,
}

impl LanguagePlugin for LanguageProgram {
    fn language(&self) -> &str {
        &self.language
    }

    fn name(&self) -> &str {
        &self.tool
    }

    fn read<'a>(
        &'a self,
        path: &'a str,
        content: &'a str,
        context_name: &'a str,
    ) -> BoxFuture<'a, Result<Extract, String>> {
        Box::pin(async move {
            // The plugin gets no terminal, because it is called for many files.
            let lane = plugin_lane(&self.plugin, &self.host, Call::Tool(TerminalNeed::None));
            let arguments = echo_proof(language_arguments(path, content));
            let environment = tool_variables(&self.plugin, &self.host, &self.tool, context_name, &arguments);
            let invocation = Invocation {
                input: arguments.into(),
                environment,
                directory: self.directory.clone(),
                timeout: self.timeout,
            };
            let finished = lane
                .run(invocation)
                .await
                .map_err(|failure| failure.to_string())?;
            if finished.code != 0 {
                let words = finished.stderr.lines().last().unwrap_or_default().to_owned();
                return Err(format!("it ended with {}: {words}", finished.code));
            }
            serde_json::from_slice(&finished.stdout)
                .map_err(|error| format!("its answer cannot be read: {error}"))
        })
    }
}
