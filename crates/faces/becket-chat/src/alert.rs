//! When and how a chat tells a user who may be looking elsewhere, by the settings and the terminal.

use becket_front::Alert;
use becket_run::config::{ChatConfig, Notification};
use becket_screen::{NotificationForm, Notifier};
use becket_system::Surroundings;

/// The alert of the settings in this terminal; `None` for never.
pub fn of(config: &ChatConfig, surroundings: &Surroundings) -> Option<Alert> {
    let variable = |name: &str| surroundings.variable(name);
    let form = match config.notification {
        Notification::None => None,
        Notification::Osc9 => Some(NotificationForm::Osc9),
        Notification::Osc777 => Some(NotificationForm::Osc777),
        Notification::Auto => {
            NotificationForm::known(variable("TERM").as_deref(), variable("TERM_PROGRAM").as_deref())
        }
    };
    Some(Alert {
        after: config.bell_after()?,
        notifier: form.map(|form| Notifier {
            form,
            through_tmux: variable("TMUX").is_some(),
        }),
    })
}
