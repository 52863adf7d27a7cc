//! Tells hooks and the user that something went wrong or needs attention.

use becket_events::{
    Attention, AttentionPayload, AttentionReason, ErrorKind, ErrorRaised, ErrorRaisedPayload, Level,
    Notification, NotificationPayload, ProviderErrorKind,
};
use becket_gate::Hooks;

use crate::front::{Front, FrontUpdate};

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

/// Shows a warning to the user, and tells hooks.
pub(crate) async fn warn(front: &dyn Front, hooks: &Hooks, message: &str) {
    front.show(FrontUpdate::Warning(message));
    let payload = || NotificationPayload {
        level: Level::Warning,
        message: message.into(),
    };
    hooks.tell::<Notification>(payload).await;
}

/// Tells hooks that the user's attention is needed.
pub(crate) async fn call_attention(hooks: &Hooks, reason: AttentionReason, message: &str) {
    let message = message.into();
    hooks
        .tell::<Attention>(|| AttentionPayload { reason, message })
        .await;
}
