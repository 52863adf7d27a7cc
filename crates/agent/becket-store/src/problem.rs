//! Failures of the store as messages for the user: what happened, where, and what to try.

use std::path::Path;

use becket_agent::store::StoreError;
use rusqlite::ErrorCode;

/// A failure inside the store, before the file and the action are known.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Problem {
    /// The request does not fit what is stored, or the file cannot be used.
    #[error("{0}")]
    Refused(String),
    /// SQLite failed.
    #[error("{message}")]
    Sqlite {
        /// The kind of failure, if SQLite names one.
        code: Option<ErrorCode>,
        /// SQLite's message.
        message: String,
    },
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite {
            code: error.sqlite_error_code(),
            message: error.to_string(),
        }
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Self::Refused(format!("something in it is not JSON of becket's: {error}"))
    }
}

impl Problem {
    /// Whether another process or thread holds the lock; trying again may help.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(
            self,
            Self::Sqlite {
                code: Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked),
                ..
            }
        )
    }

    /// The complete message for the user. `doing` completes the sentence "cannot …".
    pub(crate) fn told(self, file: &Path, doing: &str) -> StoreError {
        let file = file.display();
        let Self::Sqlite { code, message } = self else {
            return StoreError::new(format!("cannot {doing} in the store {file}: {self}"));
        };
        StoreError::new(match code {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => format!(
                "cannot {doing}: another process keeps the store {file} locked. \
                 Wait until it has finished, or end it, and try again"
            ),
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => format!(
                "cannot {doing}: the store {file} is damaged or not a becket store ({message}). \
                 Nothing was overwritten. Restore it from a backup, or move it away to start over"
            ),
            Some(ErrorCode::DiskFull) => {
                format!("cannot {doing}: no room is left for the store {file}. Make room and try again")
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => format!(
                "cannot {doing}: the store {file} cannot be opened for writing ({message}). \
                 Check who owns the file and its folder, or use another home"
            ),
            Some(ErrorCode::TooBig) => {
                format!(
                    "cannot {doing}: it is too large for the store {file}, which takes up to 1 GB at once"
                )
            }
            Some(ErrorCode::SystemIoFailure) => format!(
                "cannot {doing}: the disk failed under the store {file} ({message}). \
                 Check the disk, or use another home"
            ),
            _ => format!(
                "cannot {doing} in the store {file}: {message}. \
                 Check the store for damage, or use another home"
            ),
        })
    }
}
