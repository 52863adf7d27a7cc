//! Resolves the file that a call really touches, before it is judged: the one behind links and `..`. Web addresses are
//! resolved by `url_policy.rs`.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// The most links in one path; more are taken for a cycle.
const MAX_LINKS: usize = 40;

/// The absolute path behind links and `..`. A path that does not exist yet is resolved as far as it exists.
pub fn resolve_path(directory: &Path, path: &str) -> Result<PathBuf, String> {
    if path.is_empty() || path.contains('\0') {
        return Err("the path is empty or contains a NUL byte".into());
    }
    let absolute = directory.join(path);
    let mut pending: VecDeque<PathBuf> = absolute
        .components()
        .map(|part| part.as_os_str().into())
        .collect();
    let mut resolved = PathBuf::new();
    let mut links = 0;
    while let Some(part) = pending.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                resolved.pop();
                continue;
            }
            Some(Component::CurDir) | None => continue,
            _ => {}
        }
        let candidate = resolved.join(&part);
        match std::fs::symlink_metadata(&candidate) {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(format!("too many links in {}", absolute.display()));
                }
                let target = std::fs::read_link(&candidate).map_err(|error| describe(&candidate, &error))?;
                for part in target.components().rev() {
                    pending.push_front(part.as_os_str().into());
                }
            }
            Ok(_) => resolved = candidate,
            // Below something that does not exist, or that is no folder, there are no links to follow.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                resolved = candidate;
            }
            Err(error) => return Err(describe(&candidate, &error)),
        }
    }
    Ok(resolved)
}

fn describe(path: &Path, error: &std::io::Error) -> String {
    format!("cannot resolve {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_dots_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        std::fs::write(root.join("real/file"), "").unwrap();
        std::os::unix::fs::symlink(root.join("real/deep"), root.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere/x", root.join("dangling")).unwrap();
        std::os::unix::fs::symlink("circle", root.join("circle")).unwrap();
        let at = |path: &str| resolve_path(&root, path).unwrap();
        assert_eq!(at("./real/../real/file"), root.join("real/file"));
        assert_eq!(
            at("link/../file"),
            root.join("real/file"),
            "`..` goes up from where the link leads"
        );
        assert_eq!(at("link/new.txt"), root.join("real/deep/new.txt"));
        assert_eq!(
            at("dangling"),
            root.join("nowhere/x"),
            "a write would go to the link's target"
        );
        assert_eq!(at("none/../../x"), root.parent().unwrap().join("x"));
        assert!(
            resolve_path(&root, "circle")
                .unwrap_err()
                .contains("too many links")
        );
        assert!(resolve_path(&root, "a\0b").is_err());
    }
}
