//! Tells hooks that something went wrong.

use becket_events::{
    ErrorKind, ErrorRaised, ErrorRaisedPayload, Level, Notification, NotificationPayload, ProviderErrorKind,
};
use becket_gate::Hooks;

/// Tells hooks that something went wrong.
pub(crate) async fn raise(
    hooks: &Hooks,
    kind: ErrorKind,
    provider_error: Option<ProviderErrorKind>,
    message: &str,
) {
    let payload = || NotificationPayload {
        level: Level::Error,
        message: message.into(),
    };
    hooks.tell::<Notification>(payload).await;
    let payload = || ErrorRaisedPayload {
        kind,
        provider_error,
        message: message.into(),
    };
    hooks.tell::<ErrorRaised>(payload).await;
}
