//! Everything that extensions bring to a session besides hooks and tools.

use std::sync::Arc;

use becket_agent::provider::Provider;
use becket_agent::session_handle::SessionHandle;
use becket_host::{
    CalledCommand, Completes, Drawing, Found, GivenFlag, GuestFlag, GuestSearch, GuestShell, Interactive,
    Prompts, ShellEnd, ToolChoice,
};
use becket_screen::{Candidate, Completions, Key};
use becket_tools::Models;
use futures_util::future::BoxFuture;

use crate::extensions::{ExtensionRegistry, commands, input, placing, shell, shortcuts};
use crate::found::FoundExtensions;
use crate::guests::ExtensionGuests;
use crate::host_call::FlagKind;

impl ExtensionGuests {
    fn registry(&self) -> Option<Arc<ExtensionRegistry>> {
        self.extensions.registry()
    }
}

impl Interactive for ExtensionGuests {
    fn provider(&self, name: Option<&str>) -> Option<Result<Arc<dyn Provider>, String>> {
        self.extensions.provider(name)
    }

    fn provider_names(&self) -> Vec<String> {
        self.extensions.provider_names()
    }

    fn context_window(&self, provider: &dyn Provider) -> Option<u64> {
        self.extensions.context_window(provider)
    }

    fn models(&self, others: Models) -> Models {
        self.extensions.models(others)
    }

    fn flags(&self) -> Vec<GuestFlag> {
        let flags = self.extensions.flags().into_iter();
        flags
            .map(|flag| GuestFlag {
                guest: flag.extension,
                name: flag.definition.name,
                description: flag.definition.description,
                takes_text: flag.definition.kind == FlagKind::String,
            })
            .collect()
    }

    fn set_flags(&self, given: &[GivenFlag]) {
        self.extensions.set_flags(given);
    }

    fn handle(&self) -> Option<SessionHandle> {
        self.extensions.handle()
    }

    fn drawing(&self) -> Option<Box<dyn Drawing>> {
        let drawing = self.extensions.drawing()?;
        Some(Box::new(drawing))
    }

    fn bind(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.extensions.bind())
    }

    fn renew(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.extensions.renew())
    }

    fn reload<'a>(
        &'a self,
        place: &'a GuestSearch<'a>,
        has_agent_file: bool,
    ) -> BoxFuture<'a, Result<Vec<String>, String>> {
        Box::pin(async move {
            let found = FoundExtensions::find(place).map_err(|error| error.to_string())?;
            if let Some(refusal) = found.refusal() {
                return Err(refusal.to_string());
            }
            let (resources, about_resources) = match has_agent_file {
                true => Default::default(),
                false => found.resources(place).map_err(|error| error.to_string())?,
            };
            self.resources.renew(resources);
            self.extensions.reload(&found.found.extensions).await;
            Ok([found.found.remarks, about_resources].concat())
        })
    }

    fn settle(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.extensions.settle())
    }

    fn renew_session_file(&self) {
        self.extensions.renew_session_file();
    }

    fn choose_tools(&self, choice: Box<dyn ToolChoice>) {
        if let Some(registry) = self.registry() {
            // A run has one command line.
            let _ = registry.tool_choice.set(choice);
        }
    }

    fn commands(&self) -> Vec<(String, String)> {
        let commands = self
            .registry()
            .map(|registry| commands::all(&registry))
            .unwrap_or_default();
        let commands = commands.into_iter();
        commands
            .map(|(name, command, _)| (format!("/{name}"), command.description.unwrap_or_default()))
            .collect()
    }

    fn command(&self, line: &str) -> Option<CalledCommand> {
        let registry = self.registry()?;
        let called = commands::called(&registry, line)?;
        Some(Box::new(move |cancel| {
            Box::pin(async move { commands::run_command(&registry, called, &cancel).await })
        }))
    }

    fn complete_argument<'a>(&'a self, command: &'a str, prefix: &'a str) -> BoxFuture<'a, Vec<Candidate>> {
        Box::pin(async move {
            match self.registry() {
                Some(registry) => shortcuts::complete_argument(&registry, command, prefix).await,
                None => Vec::new(),
            }
        })
    }

    fn prompts(&self) -> Option<Arc<dyn Prompts>> {
        Some(Arc::clone(&self.resources) as Arc<dyn Prompts>)
    }

    fn set_completes(&self, completes: Completes) {
        if let Some(registry) = self.registry() {
            registry.input_listeners.set_completes(completes);
        }
    }

    fn suggest<'a>(
        &'a self,
        text: &'a str,
        before: &'a str,
        forced: bool,
    ) -> Option<BoxFuture<'a, Completions>> {
        let registry = self
            .registry()
            .filter(|registry| registry.input_listeners.complete())?;
        Some(Box::pin(async move {
            input::suggest(&registry, text, before, forced, None).await
        }))
    }

    fn shortcut_keys(&self) -> Vec<String> {
        self.registry()
            .map(|registry| shortcuts::keys(&registry))
            .unwrap_or_default()
    }

    fn shortcut(&self, key: &Key) -> Option<BoxFuture<'static, Result<(), String>>> {
        let registry = self.registry()?;
        let shortcut = shortcuts::pressed(&registry, |name| key.is(name))?;
        Some(Box::pin(async move { shortcuts::run(&registry, shortcut).await }))
    }

    fn intercepted(&self, key: &Key) -> bool {
        let registry = self.registry();
        registry
            .map(|registry| input::intercepted(&registry, key.clone()))
            .is_some()
    }

    fn has_editor(&self) -> bool {
        self.registry()
            .is_some_and(|registry| registry.components.has_editor())
    }

    fn tell_editor(&self, text: &str) -> bool {
        self.registry()
            .is_some_and(|registry| placing::tell_editor(&registry, text, false))
    }

    fn run_shell<'a>(&'a self, run: GuestShell<'a>) -> BoxFuture<'a, Result<ShellEnd, String>> {
        Box::pin(async move {
            let registry = self.registry().ok_or("no session can run it")?;
            let GuestShell {
                runner,
                command,
                directory,
                parts,
                cancel,
            } = run;
            let end = shell::run(&registry, runner, command, directory, parts, cancel).await?;
            Ok(ShellEnd {
                output: end.output,
                exit_code: end.exit_code,
                error: end.error,
            })
        })
    }
}
