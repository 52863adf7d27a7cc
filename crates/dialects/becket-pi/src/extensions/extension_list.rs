//! The extensions of a run in their order, and what each has registered.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use becket_hooks::HandlerKey;
use becket_js::Extension;

use crate::Candidate;
use crate::host_call::{FlagDefinition, ProviderDefinition, Shown, ToolDefinition};

/// The extensions of a run, loaded or not, in their order.
#[derive(Default)]
pub struct ExtensionList(Mutex<Vec<Guest>>);

/// An extension, and its registrations.
pub struct Guest {
    /// The extension as it was found.
    pub candidate: Candidate,
    /// The extension, once it is loaded.
    pub extension: Option<Extension>,
    /// How often the extension has been loaded again.
    pub life: u64,
    /// Why the extension is not loaded.
    pub trouble: Option<String>,
    /// The hooks of the extension.
    pub hooks: Vec<Hook>,
    /// The extension's tools.
    pub tools: Vec<ToolDefinition>,
    /// The extension's commands.
    pub commands: Vec<Command>,
    /// The extension's keys.
    pub shortcuts: Vec<String>,
    /// Kinds of messages that the extension draws.
    pub renderers: Vec<String>,
    /// Whether the extension decides who draws tools.
    pub resolves_renderers: bool,
    /// Whether the extension changes how texts look.
    pub transforms_markdown: bool,
    /// The extension's options.
    pub flags: Vec<FlagDefinition>,
    /// The extension's providers.
    pub providers: Vec<ProviderDefinition>,
    /// Channels of the bus to which the extension listens.
    pub channels: Vec<String>,
    /// The changes that remove what the extension shows.
    pub undoing: Vec<Shown>,
    /// Whether the extension's files call tools themselves, once somebody has looked.
    pub(super) calls_tools: Option<bool>,
}

/// An extension's function that handles an event.
pub struct Hook {
    /// pi's name of the event.
    pub event: String,
    pub(super) number: u32,
    pub(super) key: Option<HandlerKey>,
    /// Whether the hook belongs to an earlier load of the extension: then it no longer judges, and only refuses.
    pub(super) is_stale: bool,
}

/// A command of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The name that is typed after the slash.
    pub name: String,
    /// The command's description, in one line.
    pub description: Option<String>,
    /// Whether the command completes its argument.
    pub completes: bool,
}

impl ExtensionList {
    /// Adds an extension that is about to be loaded.
    pub fn add(&self, candidate: Candidate) {
        self.guests().push(Guest::new(candidate));
    }

    /// Records that an extension is loaded.
    pub fn set_loaded(&self, name: &str, extension: Extension) {
        self.with(name, |guest| guest.extension = Some(extension));
    }

    /// Removes an extension.
    pub fn remove(&self, name: &str) {
        let mut guests = self.guests();
        let (gone, kept): (Vec<Guest>, Vec<Guest>) = std::mem::take(&mut *guests)
            .into_iter()
            .partition(|guest| guest.candidate.name == name);
        *guests = kept;
        drop(guests);
        // Destructors may use the registry, so they run after the lock is released.
        drop(gone);
    }

    /// Removes all extensions.
    pub fn clear(&self) {
        let gone = std::mem::take(&mut *self.guests());
        // Destructors may use the registry, so they run after the lock is released.
        drop(gone);
    }

    /// Why an extension is not loaded.
    pub fn trouble(&self, name: &str) -> Option<String> {
        self.with(name, |guest| guest.trouble.clone()).flatten()
    }

    /// A loaded extension.
    pub fn get(&self, name: &str) -> Option<Extension> {
        self.with(name, |guest| guest.extension.clone()).flatten()
    }

    /// All loaded extensions, in order.
    pub fn loaded(&self) -> Vec<Extension> {
        let guests = self.guests();
        guests
            .iter()
            .filter_map(|guest| guest.extension.clone())
            .collect()
    }

    /// Calls a function for every extension, loaded or not.
    pub fn each<T>(&self, look: impl FnMut(&Guest) -> T) -> Vec<T> {
        self.guests().iter().map(look).collect()
    }

    /// Calls a function for one extension.
    pub fn with<T>(&self, name: &str, change: impl FnOnce(&mut Guest) -> T) -> Option<T> {
        let mut guests = self.guests();
        let guest = guests.iter_mut().find(|guest| guest.candidate.name == name)?;
        Some(change(guest))
    }

    /// The extensions that listen to a channel, except for the sender.
    pub fn listeners(&self, channel: &str, speaker: &str) -> Vec<Extension> {
        let guests = self.guests();
        let others = guests.iter().filter(|guest| guest.candidate.name != speaker);
        let listening = others.filter(|guest| guest.channels.iter().any(|other| other == channel));
        listening.filter_map(|guest| guest.extension.clone()).collect()
    }

    /// The file of the extension that has brought a resource: of the extensions with a hook for resources, the one in
    /// whose folder it is, or the only one.
    pub fn bringer(&self, resource: &Path) -> Option<PathBuf> {
        let guests = self.guests();
        let hears = |guest: &&Guest| {
            guest
                .hooks
                .iter()
                .any(|hook| hook.event == crate::RESOURCES_EVENT)
        };
        let bringers: Vec<&PathBuf> = guests
            .iter()
            .filter(hears)
            .map(|guest| &guest.candidate.file)
            .collect();
        let lies_beside = |file: &&&PathBuf| file.parent().is_some_and(|folder| resource.starts_with(folder));
        let beside = bringers.iter().find(lies_beside).copied();
        let only = bringers.first().copied().filter(|_| bringers.len() == 1);
        beside.or(only).cloned()
    }

    /// The names of all tools that extensions have registered by now.
    pub fn tool_names(&self) -> Vec<String> {
        let names = |guest: &Guest| guest.tools.iter().map(|tool| tool.name.clone()).collect();
        let names: Vec<Vec<String>> = self.each(names);
        names.concat()
    }

    /// The definition of a provider, of the last extension that brings one with that name.
    pub fn provider(&self, name: &str) -> Option<ProviderDefinition> {
        let look = |guest: &Guest| {
            let named = guest.providers.iter().find(|provider| provider.name == name);
            named.filter(|_| guest.extension.is_some()).cloned()
        };
        self.each(look).into_iter().flatten().next_back()
    }

    /// All providers of extensions.
    pub fn providers(&self) -> Vec<ProviderDefinition> {
        self.each(|guest| guest.providers.clone()).concat()
    }

    /// The position of an extension, and its file.
    pub fn position(&self, name: &str) -> Option<(usize, PathBuf)> {
        let guests = self.guests();
        let at = guests.iter().position(|guest| guest.candidate.name == name)?;
        Some((at, guests[at].candidate.file.clone()))
    }

    fn guests(&self) -> MutexGuard<'_, Vec<Guest>> {
        self.0
            .lock()
            .expect("no panic happens while the extensions are held")
    }
}

impl Guest {
    /// The extension's registrations by kind, each with their names.
    pub fn brought(&self) -> [(&'static str, Vec<&str>); 5] {
        let mut hooks: Vec<&str> = self.hooks.iter().map(|hook| hook.event.as_str()).collect();
        hooks.dedup();
        [
            ("hooks", hooks),
            (
                "tools",
                self.tools.iter().map(|tool| tool.name.as_str()).collect(),
            ),
            (
                "commands",
                self.commands
                    .iter()
                    .map(|command| command.name.as_str())
                    .collect(),
            ),
            (
                "options",
                self.flags.iter().map(|flag| flag.name.as_str()).collect(),
            ),
            (
                "providers",
                self.providers
                    .iter()
                    .map(|provider| provider.name.as_str())
                    .collect(),
            ),
        ]
    }

    pub(super) fn new(candidate: Candidate) -> Self {
        Self {
            candidate,
            extension: None,
            life: 0,
            trouble: None,
            hooks: Vec::new(),
            tools: Vec::new(),
            commands: Vec::new(),
            shortcuts: Vec::new(),
            renderers: Vec::new(),
            resolves_renderers: false,
            transforms_markdown: false,
            flags: Vec::new(),
            providers: Vec::new(),
            channels: Vec::new(),
            undoing: Vec::new(),
            calls_tools: None,
        }
    }

    /// A description of the extension and its engine.
    pub fn shown(&self) -> String {
        let (name, file) = (&self.candidate.name, self.candidate.file.display());
        match &self.extension {
            Some(extension) => format!("extension {name} ({file}, {})", extension.engine()),
            None => format!("extension {name} ({file})"),
        }
    }
}

impl Hook {
    /// Whether the hook is not yet registered in the engine.
    pub(super) fn is_waiting(&self) -> bool {
        self.key.is_none() && !self.is_stale
    }

    /// Whether the hook is the function that the extension has under a number now.
    pub(super) fn is(&self, number: u32) -> bool {
        self.number == number && !self.is_stale
    }
}
