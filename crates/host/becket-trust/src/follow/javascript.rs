//! JavaScript: programs that a script starts, and code that it evaluates. Imports are found by the engine's own
//! resolver, which knows packages.

use super::calls::{self, Starters, Takes};
use super::followed::Followed;
use super::language::Language;

/// Functions that run something.
const STARTERS: &[Starters] = &[
    Starters {
        module: "child_process",
        names: &["exec", "execSync"],
        takes: Takes::Line,
    },
    Starters {
        module: "child_process",
        names: &["execFile", "execFileSync", "spawn", "spawnSync"],
        takes: Takes::Program,
    },
    Starters {
        module: "child_process",
        names: &["fork"],
        takes: Takes::File(Language::JavaScript),
    },
    Starters {
        module: "Bun",
        names: &["spawn", "spawnSync"],
        takes: Takes::Line,
    },
    Starters {
        module: "Deno",
        names: &["Command", "run"],
        takes: Takes::Program,
    },
    Starters {
        module: "pi",
        names: &["exec"],
        takes: Takes::Program,
    },
    Starters {
        module: "vm",
        names: &[
            "Script",
            "SourceTextModule",
            "compileFunction",
            "runInContext",
            "runInNewContext",
            "runInThisContext",
        ],
        takes: Takes::Code,
    },
    Starters {
        module: "worker_threads",
        names: &["Worker"],
        takes: Takes::File(Language::JavaScript),
    },
    Starters {
        module: "",
        names: &["eval", "Function"],
        takes: Takes::Code,
    },
    Starters {
        module: "",
        names: &["createRequire"],
        takes: Takes::Place,
    },
];

/// The programs that a script starts.
pub fn starts(text: &str) -> Followed {
    calls::follow(text, STARTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_starts_is_followed_or_told() {
        let child = "import { execSync, spawn, exec } from 'node:child_process';\n";
        for (text, used, open) in [
            ("execSync('./x.sh --now')", "./x.sh", ""),
            ("spawn('bash', ['x.sh'], { stdio: 'inherit' })", "x.sh", ""),
            ("spawn(process.execPath, ['x.mjs'])", "x.mjs", ""),
            ("execSync(`git diff ${x}`)", "", "`execSync(`git diff ${x}`)`"),
            ("execSync(command)", "", "`execSync(command)`"),
            ("/a/.exec(command)", "", ""),
            ("new Function('x', code)", "", "`Function('x', code)`"),
            ("createRequire(import.meta.url)", "", ""),
            ("createRequire(place)", "", "`createRequire(place)`"),
            ("pi.exec('git', ['status'])", "", ""),
            ("pi.exec('./x.sh', [])", "./x.sh", ""),
            ("vm.runInNewContext(code)", "", "`vm.runInNewContext(code)`"),
        ] {
            let found = starts(&format!("{child}{text}"));
            let uses: Vec<_> = found.uses.iter().filter_map(|used| used.path.to_str()).collect();
            assert_eq!(uses.join(" "), used, "{text}");
            let told: Vec<String> = found.open.iter().map(ToString::to_string).collect();
            assert!(
                told.join(" ").contains(open) && told.is_empty() == open.is_empty(),
                "{text}: {told:?}"
            );
        }
    }
}
