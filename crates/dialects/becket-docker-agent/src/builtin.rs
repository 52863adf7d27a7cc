//! The names and arguments of builtins, as files write them.

use super::hook::Builtin;

/// How many commits are listed by default.
const USUAL_COMMITS: u32 = 10;

type Read = fn(&[String]) -> Result<Builtin, String>;

const BUILTINS: &[(&str, Read)] = &[
    ("add_date", |_| Ok(Builtin::AddDate)),
    ("add_environment_info", |_| Ok(Builtin::AddEnvironmentInfo)),
    ("add_prompt_files", |files| match files {
        [] => Err("add_prompt_files needs the names of files in `args`".into()),
        files => Ok(Builtin::AddPromptFiles(files.to_vec())),
    }),
    ("add_git_status", |_| Ok(Builtin::AddGitStatus)),
    ("add_git_diff", |args| {
        Ok(Builtin::AddGitDiff {
            full: args.iter().any(|arg| arg == "full"),
        })
    }),
    ("add_directory_listing", |_| Ok(Builtin::AddDirectoryListing)),
    ("add_user_info", |_| Ok(Builtin::AddUserInfo)),
    ("add_recent_commits", |args| {
        let number = args.first().and_then(|arg| arg.trim().parse().ok());
        let number = number.filter(|number| *number > 0);
        Ok(Builtin::AddRecentCommits(number.unwrap_or(USUAL_COMMITS)))
    }),
    ("add_context", |texts| match texts {
        [] => Err("add_context needs texts in `args`".into()),
        texts => Ok(Builtin::AddContext(texts.to_vec())),
    }),
    ("max_iterations", |args| {
        let limit = args.first().and_then(|arg| arg.trim().parse().ok());
        Ok(Builtin::MaxIterations(limit.filter(|limit| *limit > 0)))
    }),
    ("snapshot", |_| Ok(Builtin::Snapshot)),
    ("redact_secrets", |_| Ok(Builtin::RedactSecrets)),
    ("http_post", |args| match args {
        [url] | [url, _] => Ok(Builtin::HttpPost {
            url: url.clone(),
            body: args.get(1).cloned(),
        }),
        _ => Err("http_post needs an address in `args`, and may have a body after it".into()),
    }),
    ("limit_large_tool_results", |_| Ok(Builtin::LimitLargeToolResults)),
    ("elide_repeated_tool_results", |_| {
        Ok(Builtin::ElideRepeatedToolResults)
    }),
    ("safer_shell", |_| Ok(Builtin::SaferShell)),
    ("unload", |_| Ok(Builtin::Unload)),
];

impl Builtin {
    /// The names of all builtins.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILTINS.iter().map(|(name, _)| *name)
    }

    /// The builtin with that name and these arguments; `None` if there is none.
    pub fn read(name: &str, args: &[String]) -> Option<Result<Self, String>> {
        let (_, read) = BUILTINS.iter().find(|(known, _)| *known == name)?;
        Some(read(args))
    }

    /// The builtin's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AddDate => "add_date",
            Self::AddEnvironmentInfo => "add_environment_info",
            Self::AddPromptFiles(_) => "add_prompt_files",
            Self::AddGitStatus => "add_git_status",
            Self::AddGitDiff { .. } => "add_git_diff",
            Self::AddDirectoryListing => "add_directory_listing",
            Self::AddUserInfo => "add_user_info",
            Self::AddRecentCommits(_) => "add_recent_commits",
            Self::AddContext(_) => "add_context",
            Self::MaxIterations(_) => "max_iterations",
            Self::Snapshot => "snapshot",
            Self::RedactSecrets => "redact_secrets",
            Self::HttpPost { .. } => "http_post",
            Self::LimitLargeToolResults => "limit_large_tool_results",
            Self::ElideRepeatedToolResults => "elide_repeated_tool_results",
            Self::SaferShell => "safer_shell",
            Self::Unload => "unload",
            Self::AskUser => "evaluator",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_is_read_by_its_own_name() {
        for name in Builtin::names() {
            let read = Builtin::read(name, &["http://a".into()]).unwrap().unwrap();
            assert_eq!(read.name(), name);
        }
    }

    #[test]
    fn numbers_that_are_none_mean_the_usual() {
        let read = |name, arg: &str| Builtin::read(name, &[arg.into()]).unwrap().unwrap();
        assert_eq!(read("add_recent_commits", "5"), Builtin::AddRecentCommits(5));
        for odd in ["0", "-1", "x"] {
            assert_eq!(read("add_recent_commits", odd), Builtin::AddRecentCommits(10));
            assert_eq!(read("max_iterations", odd), Builtin::MaxIterations(None));
        }
    }
}
