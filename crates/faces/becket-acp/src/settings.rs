//! The permission mode and the model of a session, which the editor can change at any time.
//!
//! The mode is there twice: as a mode, for editors that know those, and as an option beside the model, for editors that
//! show options in place of modes.

use std::cell::RefCell;

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue, SessionConfigSelectOption,
    SessionMode, SessionModeState,
};
use becket_agent::SharedMode;
use becket_events::PermissionMode;
use becket_face_kit::{Conversation, known_models};
use becket_run::ModelChooser;

/// The ids of the options.
const MODE: &str = "mode";
const MODEL: &str = "model";

/// The mode and the model of a session.
pub struct Settings {
    mode: SharedMode,
    /// The models; `None` until the conversation is open.
    models: RefCell<Option<Models>>,
}

struct Models {
    current: String,
    known: Vec<String>,
    chooser: ModelChooser,
}

impl Settings {
    pub fn new(mode: SharedMode) -> Self {
        Self {
            mode,
            models: RefCell::default(),
        }
    }

    /// The current mode.
    pub fn mode(&self) -> PermissionMode {
        self.mode.get()
    }

    /// Changes the mode. The next call is judged in it.
    pub fn set_mode(&self, word: &str) -> Result<(), String> {
        let mode = PermissionMode::of_word(word).ok_or_else(|| {
            let words: Vec<&str> = PermissionMode::ALL.iter().map(|mode| mode.word()).collect();
            format!("there is no mode `{word}`; there are {}", words.join(", "))
        })?;
        self.mode.set(mode);
        Ok(())
    }

    /// Uses another model from the next request on.
    pub fn set_model(&self, name: &str) -> Result<(), String> {
        let mut models = self.models.borrow_mut();
        let models = models
            .as_mut()
            .ok_or("the models are not known yet; send a prompt first")?;
        models.chooser.choose(name)?;
        name.clone_into(&mut models.current);
        Ok(())
    }

    /// Changes an option.
    pub fn set(&self, option: &str, value: &SessionConfigOptionValue) -> Result<(), String> {
        let SessionConfigOptionValue::ValueId { value, .. } = value else {
            return Err(format!("the option `{option}` takes one of its values"));
        };
        match option {
            MODE => self.set_mode(&value.0),
            MODEL => self.set_model(&value.0),
            _ => Err(format!("there is no option `{option}`")),
        }
    }

    /// Learns the models. Returns whether they are others than before.
    pub fn learn(&self, conversation: &Conversation) -> bool {
        let Some(chooser) = conversation.models().chooser() else {
            return false;
        };
        let current = conversation.models().current_name();
        let mut known = known_models(conversation);
        if !known.contains(&current) {
            known.push(current.clone());
        }
        let mut models = self.models.borrow_mut();
        let is_same = |before: &Models| before.current == current && before.known == known;
        let is_new = !models.as_ref().is_some_and(is_same);
        *models = Some(Models {
            current,
            known,
            chooser,
        });
        is_new
    }

    /// The modes.
    pub fn modes(&self) -> SessionModeState {
        let modes = PermissionMode::ALL.iter();
        let modes =
            modes.map(|mode| SessionMode::new(mode.word(), mode.word()).description(mode.about().to_owned()));
        SessionModeState::new(self.mode().word(), modes.collect::<Vec<_>>())
    }

    /// The options with their values.
    pub fn options(&self) -> Vec<SessionConfigOption> {
        let modes = PermissionMode::ALL.iter();
        let modes = modes.map(|mode| {
            SessionConfigSelectOption::new(mode.word(), mode.word()).description(mode.about().to_owned())
        });
        let mode =
            SessionConfigOption::select(MODE, "Permissions", self.mode().word(), modes.collect::<Vec<_>>());
        let mode = mode.category(SessionConfigOptionCategory::Mode);
        let models = self.models.borrow();
        let model = models.as_ref().map(|models| {
            let known = models.known.iter();
            let known = known.map(|name| SessionConfigSelectOption::new(name.clone(), name.clone()));
            let known = known.collect::<Vec<_>>();
            SessionConfigOption::select(MODEL, "Model", models.current.clone(), known)
                .category(SessionConfigOptionCategory::Model)
        });
        std::iter::once(mode).chain(model).collect()
    }
}
