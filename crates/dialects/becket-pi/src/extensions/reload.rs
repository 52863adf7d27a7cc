//! Loads extensions anew: between two sessions, and in the middle of one as their files are now.

use std::sync::Arc;

use becket_hooks::{Field, ScriptHandler};
use becket_js::{Extension, Kit};

use super::A_WORD;
use super::board::Board;
use super::tool::{ExtensionTool, Offer};
use crate::Candidate;
use crate::services::{Bind, End};

impl Board {
    /// Keeps what extensions are loaded with.
    pub fn set_kit(&self, kit: Arc<Kit>) {
        self.state().kit = Some(kit);
    }

    /// A session is about to begin: from now on extensions may act.
    pub async fn bind(&self) {
        self.set_begun(true);
        for extension in self.extensions() {
            if let Err(failure) = self.ask(&extension, &Bind {}, A_WORD).await {
                self.fail(extension.name(), None, &failure.to_string());
            }
        }
    }

    /// All extensions begin anew while there is no session: they hear by its events that one has ended and another one
    /// begins. Guards of one that cannot be loaded refuse.
    pub async fn renew(self: &Arc<Self>) {
        let Some(kit) = self.state().kit.clone() else {
            return;
        };
        self.set_begun(false);
        for candidate in self.each(|guest| guest.candidate.clone()) {
            self.load_again(&kit, &candidate).await;
        }
        self.bind().await;
    }

    /// All extensions begin anew as their files are now, while nothing runs: each hears that it ends, and that it
    /// begins again. Those that are new begin; those whose files are gone only end.
    pub async fn reload(self: &Arc<Self>, found: &[Candidate]) {
        let Some(kit) = self.state().kit.clone() else {
            return;
        };
        let (event, fields) = crate::about_to_be_loaded_again();
        self.tell_all(event, &fields).await;
        self.set_begun(false);
        for mut candidate in self.each(|guest| guest.candidate.clone()) {
            match found.iter().find(|other| other.file == candidate.file) {
                Some(other) => {
                    // What was copied of it before may be something else now.
                    candidate.copy.clone_from(&other.copy);
                    self.with(&candidate.name, |guest| {
                        guest.candidate.copy.clone_from(&other.copy)
                    });
                    self.load_again(&kit, &candidate).await;
                }
                None => {
                    self.end_one(&candidate.name).await;
                    self.dismiss(&candidate.name);
                }
            }
        }
        let known = self.each(|guest| guest.candidate.file.clone());
        for candidate in found.iter().filter(|candidate| !known.contains(&candidate.file)) {
            self.load_besides(&kit, candidate.clone()).await;
        }
        self.bind().await;
        let (event, fields) = crate::loaded_again();
        self.tell_all(event, &fields).await;
    }

    async fn load_again(self: &Arc<Self>, kit: &Arc<Kit>, candidate: &Candidate) {
        let name = &candidate.name;
        let before = self.extension(name);
        self.end_one(name).await;
        self.renewing(name);
        self.with(name, |guest| guest.extension = None);
        // What ends with it may look at the board once more: not while it is held.
        drop(before);
        let loaded = Extension::load(kit, name, candidate.code()).await;
        let loaded = loaded.map(|extension| {
            self.seat(name, extension);
            self.catch_up(name);
        });
        self.renewed(name, loaded);
    }

    /// Loads one that was not there before, under a name that no other has.
    async fn load_besides(self: &Arc<Self>, kit: &Arc<Kit>, mut candidate: Candidate) {
        let names = self.each(|guest| guest.candidate.name.clone());
        let given = candidate.name.clone();
        let mut number = 1;
        while names.contains(&candidate.name) {
            number += 1;
            candidate.name = format!("{given}-{number}");
        }
        match super::load(kit, self, &candidate).await {
            Ok(()) => self.catch_up(&candidate.name),
            Err(words) => self.warn(&words),
        }
    }

    /// Nothing of an extension counts any more, except for a command of its that goes on in another session.
    async fn end_one(&self, name: &str) {
        if let Some(extension) = self.extension(name) {
            let _ = self.ask(&extension, &End {}, A_WORD).await;
        }
        let undoing = self.with(name, |guest| std::mem::take(&mut guest.undoing));
        for undone in undoing.into_iter().flatten() {
            self.ui(|ui| ui.show(name, undone)).unwrap_or_default();
        }
        self.components.forget(name);
        self.taps_forget(name);
        self.desk.take_tools_of(name);
    }

    /// Calls the functions of all extensions that hear an event.
    async fn tell_all(&self, event: &str, fields: &[Field]) {
        for extension in self.extensions() {
            self.tell_one(&extension, event, fields).await;
        }
    }

    /// Calls the functions of one extension that hear an event.
    pub async fn tell_one(&self, extension: &Extension, event: &str, fields: &[Field]) {
        let hooks = self.with(extension.name(), |guest| {
            let heard = guest.hooks.iter().filter(|hook| hook.event == event);
            heard.map(|hook| hook.number).collect::<Vec<_>>()
        });
        for number in hooks.unwrap_or_default() {
            let handler: Arc<dyn ScriptHandler> = extension.handler(number, self.facts.timeout);
            if let Err(failure) = handler.call(fields.to_vec()).await {
                self.fail(extension.name(), Some(event), &failure.to_string());
            }
        }
    }

    /// What an extension has registered before it had its seat goes where it belongs.
    fn catch_up(self: &Arc<Self>, name: &str) {
        let brought = self.with(name, |guest| {
            let hooks = guest.hooks.iter().filter(|hook| hook.is_waiting());
            let hooks: Vec<(String, u32)> = hooks.map(|hook| (hook.event.clone(), hook.number)).collect();
            (hooks, guest.tools.clone(), guest.extension.clone())
        });
        let Some((hooks, tools, Some(extension))) = brought else {
            return;
        };
        for (event, number) in hooks {
            self.listen(name, &event, number);
        }
        let Some(stage) = self.stage() else { return };
        for definition in tools {
            let offer = Offer {
                extension: extension.clone(),
                definition,
            };
            match ExtensionTool::new(offer, self, &stage.profile) {
                Ok(tool) => self.desk.add_tool(Arc::new(tool)),
                Err(why) => self.warn(&why),
            }
        }
    }
}
