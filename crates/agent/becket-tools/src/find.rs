//! Finding files by their names.

use std::path::Path;

use becket_agent::tool::{ToolOutput, ToolRun};
use becket_events::{FindArguments, Finding, Part};
use serde_json::json;

use crate::answer::OperationAnswer;
use crate::judged_path::{open_folder, reason};
use crate::place::FileSource;
use crate::settings::ToolSettings;
use crate::walk::{self, Bounds, FileGlob};

/// How many files are returned by default.
const USUAL_LIMIT: u64 = 1000;

/// The most files that are returned.
const MOST_FILES: u64 = 20_000;

/// Finds files below `path`, which is the judged form of what the arguments name.
pub(crate) async fn run(
    arguments: &FindArguments,
    path: &Path,
    place: FileSource,
    settings: &ToolSettings,
    run: ToolRun,
) -> OperationAnswer {
    let (arguments, path) = (arguments.clone(), path.to_owned());
    let bounds = Bounds::new(settings, &run, place);
    tokio::task::spawn_blocking(move || find(&arguments, &path, &bounds))
        .await
        .unwrap_or_else(|_| ToolOutput::error("The search broke off. Try it with a simpler pattern.").into())
}

fn find(arguments: &FindArguments, path: &Path, bounds: &Bounds) -> OperationAnswer {
    let place = arguments.path.as_deref();
    if let Err(error) = open_folder(path) {
        let words = format!("Cannot search {}: {}.", place.unwrap_or("."), reason(&error));
        return OperationAnswer::refused_by_system(words, &error, path);
    }
    let glob = match FileGlob::new(&arguments.pattern, path, place) {
        Ok(glob) => glob,
        Err(problem) => return ToolOutput::error(format!("Cannot search: {problem}.")).into(),
    };
    let limit = arguments.limit.unwrap_or(USUAL_LIMIT).clamp(1, MOST_FILES) as usize;
    let mut found = Vec::new();
    let end = walk::files(path, bounds, |below, _| {
        if glob.matches(below) {
            found.push(below.to_owned());
        }
        found.len() <= limit
    });
    let more = found.len() > limit;
    found.truncate(limit);
    let mut lines: Vec<String> = found.iter().map(|below| walk::shown(place, below)).collect();
    if lines.is_empty() && end.is_ok() {
        lines.push(format!("[No file matches {}.]", arguments.pattern));
    }
    let notice = match end {
        Err(stopped) => Some(format!("[{}]", stopped.words())),
        Ok(()) if more => Some(format!(
            "[Only the first {limit} files are shown; use a narrower pattern.]"
        )),
        Ok(()) => None,
    };
    lines.extend(notice.clone());
    OperationAnswer {
        output: ToolOutput {
            content: vec![Part::text(lines.join("\n"))],
            is_error: false,
            details: Some(json!({"files": found.len(), "complete": notice.is_none()})),
            ends_run: false,
        },
        finding: Some(Finding::Find {
            files: found.iter().map(|below| below.display().to_string()).collect(),
            notice,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::time::Duration;
    use tokio_util::sync::CancellationToken;

    struct Room {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    fn room(files: &[&str]) -> Room {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        for file in files {
            std::fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
            std::fs::write(path.join(file), "").unwrap();
        }
        Room {
            _folder: folder,
            path,
        }
    }

    fn tool_run() -> ToolRun {
        ToolRun {
            progress: tokio::sync::mpsc::unbounded_channel().0,
            cancel: CancellationToken::new(),
            parent: None,
        }
    }

    impl Room {
        async fn call(&self, pattern: &str, place: Option<&str>, limit: Option<u64>) -> (String, bool) {
            let arguments = FindArguments {
                pattern: pattern.to_owned(),
                path: place.map(str::to_owned),
                limit,
            };
            let path = match place {
                None | Some(".") => self.path.clone(),
                Some(place) => self.path.join(place),
            };
            words(
                run(
                    &arguments,
                    &path,
                    FileSource::System,
                    &ToolSettings::default(),
                    tool_run(),
                )
                .await,
            )
        }

        async fn find(&self, pattern: &str) -> String {
            self.call(pattern, None, None).await.0
        }
    }

    fn words(answer: OperationAnswer) -> (String, bool) {
        let output = answer.output;
        match output.content.as_slice() {
            [Part::Text { text }] => (text.clone(), output.is_error),
            other => panic!("one text expected: {other:?}"),
        }
    }

    #[tokio::test]
    async fn files_come_sorted_and_ignored_ones_do_not() {
        let room = room(&[
            "b.rs",
            "a.rs",
            "src/c.rs",
            "target/d.rs",
            ".git/e.rs",
            ".hidden/f.rs",
            "g.txt",
        ]);
        std::fs::write(room.path.join(".gitignore"), "/target\n").unwrap();
        assert_eq!(room.find("*.rs").await, ".hidden/f.rs\na.rs\nb.rs\nsrc/c.rs");
        assert_eq!(room.find("**/*.rs").await, ".hidden/f.rs\na.rs\nb.rs\nsrc/c.rs");
        assert_eq!(room.find("src/*").await, "src/c.rs");
        assert_eq!(room.find("./src/*.{rs,txt}").await, "src/c.rs");
        assert_eq!(
            room.find(&format!("{}/*.txt", room.path.display())).await,
            "g.txt"
        );
    }

    #[tokio::test]
    async fn a_star_does_not_cross_folders_when_the_pattern_has_one() {
        let room = room(&["a/b.rs", "a/c/d.rs"]);
        assert_eq!(room.find("a/*.rs").await, "a/b.rs");
    }

    #[tokio::test]
    async fn the_searched_directory_stands_before_what_it_holds() {
        let room = room(&["src/deep/c.rs"]);
        assert_eq!(room.call("*.rs", Some("src"), None).await.0, "src/deep/c.rs");
        assert_eq!(room.call("*.rs", Some("."), None).await.0, "src/deep/c.rs");
    }

    #[tokio::test]
    async fn links_are_named_and_not_followed() {
        let room = room(&["real/a.rs"]);
        symlink(room.path.join("real"), room.path.join("loop.rs")).unwrap();
        assert_eq!(room.find("*.rs").await, "loop.rs\nreal/a.rs");
    }

    #[tokio::test]
    async fn more_than_the_limit_is_told() {
        let room = room(&["a", "b", "c"]);
        let (text, _) = room.call("*", None, Some(2)).await;
        assert_eq!(
            text,
            "a\nb\n[Only the first 2 files are shown; use a narrower pattern.]"
        );
        assert_eq!(room.call("*", None, Some(3)).await.0, "a\nb\nc");
    }

    #[tokio::test]
    async fn nothing_found_and_nothing_to_search_are_different() {
        let room = room(&["a"]);
        assert_eq!(
            room.call("*.zig", None, None).await,
            ("[No file matches *.zig.]".to_owned(), false)
        );
        assert_eq!(
            room.call("*", Some("gone"), None).await,
            ("Cannot search gone: it does not exist.".to_owned(), true)
        );
        let (text, is_error) = room.call("a{", None, None).await;
        assert!(is_error && text.contains("`a{` is not valid"), "{text}");
    }

    #[tokio::test]
    async fn a_search_ends_when_its_time_is_up_or_it_is_cancelled() {
        let room = room(&["a"]);
        let arguments = FindArguments {
            pattern: "*".into(),
            path: None,
            limit: None,
        };
        let settings = ToolSettings {
            search_timeout: Duration::ZERO,
            ..ToolSettings::default()
        };
        let (text, _) = words(run(&arguments, &room.path, FileSource::System, &settings, tool_run()).await);
        assert!(text.contains("the time was up"), "{text}");
        let cancelled = tool_run();
        cancelled.cancel.cancel();
        let (text, _) = words(
            run(
                &arguments,
                &room.path,
                FileSource::System,
                &ToolSettings::default(),
                cancelled,
            )
            .await,
        );
        assert!(text.contains("cancelled"), "{text}");
    }
}
