//! Mistakes that people make with hooks, seeded one by one: `becket hooks check` finds them before a run does. And
//! hooks that are right, of which it says nothing.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::Room;

use crate::{repository_file, room};

/// One mistake: what it is, the files with it, what is checked, and the kind of finding.
struct Mistake {
    what: &'static str,
    /// Name, text, and whether it may be executed.
    files: &'static [(&'static str, &'static str, bool)],
    path: &'static str,
    kind: &'static str,
}

const fn mistake(
    what: &'static str,
    kind: &'static str,
    path: &'static str,
    files: &'static [(&'static str, &'static str, bool)],
) -> Mistake {
    Mistake {
        what,
        files,
        path,
        kind,
    }
}

/// No mistake: there is nothing to find.
const fn right(
    what: &'static str,
    path: &'static str,
    files: &'static [(&'static str, &'static str, bool)],
) -> Mistake {
    mistake(what, "", path, files)
}

// tidy: a table
const MISTAKES: &[Mistake] = &[
    mistake(
        "an event that is misspelt",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tol\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a foreign event in becket's own file",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"PreToolUse\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a key that is misspelt",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncomand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "no program at all",
        "configuration",
        "h.toml",
        &[("h.toml", "[[hook]]\nevent = \"pre_tool\"\n", false)],
    ),
    mistake(
        "command and worker together",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\nworker = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a broken regular expression",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = { regex = \"a(\" } }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a broken glob",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = { glob = \"a[\" } }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a match on a field that the event lacks",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"turn_start\"\nmatch = { tool = \"shell\" }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a timeout that is no number",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ntimeout = \"5s\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a failure policy where nothing can be refused",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"turn_start\"\non_failure = \"deny\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a guard that fails open",
        "loosened_guard",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\non_failure = \"allow\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a tool that does not exist",
        "unknown_tool",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = \"Bash\" }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a pattern that no tool has",
        "unknown_tool",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = { regex = \"Write|Edit\" } }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a program that is not there",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"no-such-program-7\"]\n",
            false,
        )],
    ),
    mistake(
        "a command in a pipe that is not there",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"cat | no-such-program-7 -r .x\"\n",
            false,
        )],
    ),
    mistake(
        "a script that is not there",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./absent.sh\"]\n",
            false,
        )],
    ),
    mistake(
        "a script for an interpreter that is not there",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"python3\", \"absent.py\"]\nworking_dir = \".\"\n",
            false,
        )],
    ),
    mistake(
        "a script that may not be executed",
        "not_executable",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            ("guard.sh", "#!/bin/sh\nexit 0\n", false),
        ],
    ),
    mistake(
        "the same in a line for the shell",
        "not_executable",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"$BECKET_HOOK_DIR/guard.sh x\"\n",
                false,
            ),
            ("guard.sh", "#!/bin/sh\nexit 0\n", false),
        ],
    ),
    mistake(
        "an interpreter that is not there",
        "bad_interpreter",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            ("guard.sh", "#!/usr/local/no/such/bash\nexit 0\n", true),
        ],
    ),
    mistake(
        "a script without a first line",
        "bad_interpreter",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            ("guard.sh", "echo hello\n", true),
        ],
    ),
    mistake(
        "line ends of another system in the first line",
        "line_ends",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            ("guard.sh", "#!/bin/sh\r\nexit 0\r\n", true),
        ],
    ),
    mistake(
        "the same further below",
        "line_ends",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            ("guard.sh", "#!/bin/sh\nexit 2\r\n", true),
        ],
    ),
    mistake(
        "a command inside of a script that is not there",
        "missing_program",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            (
                "guard.sh",
                "#!/bin/sh\ninput=$(cat)\necho \"$input\" | no-such-program-7 .x\n",
                true,
            ),
        ],
    ),
    mistake(
        "a folder with a space, and no quotes",
        "unquoted_path",
        "my hooks/h.toml",
        &[
            (
                "my hooks/h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"$BECKET_HOOK_DIR/guard.sh x\"\n",
                false,
            ),
            ("my hooks/guard.sh", "#!/bin/sh\nexit 0\n", true),
        ],
    ),
    mistake(
        "a timeout of an hour",
        "long_timeout",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ntimeout = 3600\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a timeout of a minute for every piece of an answer",
        "long_timeout",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"message_update\"\ntimeout = 60\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a verdict where nothing is decided",
        "meaningless_field",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"turn_start\"\ncommand = '''echo '{\"verdict\": {\"deny\": \"no\"}}' '''\n",
            false,
        )],
    ),
    mistake(
        "context where nobody reads it",
        "meaningless_field",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"session_end\"\ncommand = '''printf '{\"context\": [\"x\"]}' '''\n",
            false,
        )],
    ),
    mistake(
        "two hooks that rewrite the arguments",
        "same_rewrite",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = '''echo '{\"arguments\": {\"command\": \"a\"}}' '''\n\
         [[hook]]\nevent = \"pre_tool\"\ncommand = '''echo '{\"arguments\": {\"command\": \"b\"}}' '''\n",
            false,
        )],
    ),
    mistake(
        "the same hook twice",
        "twice",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\n[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: an event that is misspelt",
        "configuration",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_used:\n  - hooks:\n      - {type: command, command: 'true'}\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: a broken matcher",
        "configuration",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - matcher: 'a('\n    hooks:\n      - {type: command, command: 'true'}\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: a decision at the end of a turn",
        "meaningless_field",
        "a.yaml",
        &[(
            "a.yaml",
            "turn_end:\n  - type: command\n    command: |\n      echo '{\"decision\": \"block\"}'\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: a guard that shall fail open",
        "fixed_guard",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - hooks:\n      - {type: command, command: 'true', on_error: ignore}\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: two hooks that rewrite the input",
        "same_rewrite",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - hooks:\n      - type: command\n        command: |\n          \
         echo '{\"hook_specific_output\": {\"updated_input\": {\"cmd\": \"a\"}}}'\n      - type: command\n        \
         command: |\n          echo '{\"hook_specific_output\": {\"updated_input\": {\"cmd\": \"b\"}}}'\n",
            false,
        )],
    ),
    mistake(
        "chibi: a plugin that may not be executed",
        "not_executable",
        "plugins",
        &[(
            "plugins/guard",
            "#!/bin/bash\necho '{\"name\":\"guard\",\"description\":\"x\",\"hooks\":[\"pre_tool\"]}'\n",
            false,
        )],
    ),
    mistake(
        "chibi: a hook that is misspelt",
        "unknown_event",
        "plugins",
        &[(
            "plugins/guard",
            "#!/bin/bash\necho '{\"name\":\"guard\",\"description\":\"x\",\"hooks\":[\"pre_tol\"]}'\n",
            true,
        )],
    ),
    mistake(
        "pi: an event that is misspelt",
        "unknown_event",
        "gate.ts",
        &[(
            "gate.ts",
            "export default function (pi: any) {\n  pi.on(\"tool_cal\", async () => undefined);\n}\n",
            false,
        )],
    ),
    mistake(
        "pi: an extension that cannot be read",
        "bad_script",
        "gate.ts",
        &[(
            "gate.ts",
            "export default function (pi: any) {\n  pi.on(\"tool_call\", async ( => undefined);\n}\n",
            false,
        )],
    ),
    mistake(
        "a word of another system in an answer",
        "meaningless_field",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = '''echo '{\"decision\": \"deny\"}' '''\n",
            false,
        )],
    ),
    mistake(
        "a verdict that there is not",
        "meaningless_field",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = '''echo '{\"verdict\": \"block\"}' '''\n",
            false,
        )],
    ),
    mistake(
        "a refusal without its reason, in a script",
        "meaningless_field",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            (
                "guard.sh",
                "#!/bin/sh\ncat <<EOF\n{\"verdict\": \"deny\"}\nEOF\n",
                true,
            ),
        ],
    ),
    mistake(
        "a tool that is misspelt",
        "unknown_tool",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = \"sheel\" }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a script for Python that is nowhere",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"python3\", \"nothere.py\"]\n",
            false,
        )],
    ),
    mistake(
        "a script beside the file, seen from elsewhere",
        "missing_program",
        "hooks/h.toml",
        &[
            (
                "hooks/h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"bash\", \"guard.sh\"]\n",
                false,
            ),
            ("hooks/guard.sh", "#!/bin/bash\n", true),
        ],
    ),
    mistake(
        "a script behind an interpreter in a line",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"python3 $BECKET_HOOK_DIR/nosuch.py\"\n",
            false,
        )],
    ),
    mistake(
        "a program behind env",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"env\", \"A=1\", \"no-such-program-7\"]\n",
            false,
        )],
    ),
    mistake(
        "a program in a text for a shell",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"sh\", \"-c\", \"cat | no-such-program-7\"]\n",
            false,
        )],
    ),
    mistake(
        "a script of a worker that is nowhere",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nworker = [\"python3\", \"nosuch.py\"]\n",
            false,
        )],
    ),
    mistake(
        "a folder to run in that is not there",
        "missing_folder",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\nworking_dir = \"nowhere\"\n",
            false,
        )],
    ),
    mistake(
        "a folder as a program",
        "not_executable",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./tools\"]\n",
                false,
            ),
            ("tools/x", "", false),
        ],
    ),
    mistake(
        "a line that the shell cannot read",
        "bad_script",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"if true; then\"\n",
            false,
        )],
    ),
    mistake(
        "a script that its shell cannot read",
        "bad_script",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            ("guard.sh", "#!/bin/sh\nif true; then\n  exit 0\n", true),
        ],
    ),
    mistake(
        "a pattern that must be the whole command",
        "whole_text",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { arguments = { command = { regex = \"rm -rf\" } } \
         }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a star in a text that must be equal",
        "whole_text",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { arguments = { command = \"rm -rf *\" } \
         }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: a decision that there is not",
        "meaningless_field",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - hooks:\n      - {type: command, command: \"echo '{\\\"decision\\\": \
         \\\"deny\\\"}'\"}\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: a decision at the wrong place",
        "meaningless_field",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - hooks:\n      - {type: command, command: \"echo \
         '{\\\"permission_decision\\\": \\\"deny\\\"}'\"}\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: words for the model where none are taken",
        "meaningless_field",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - hooks:\n      - {type: builtin, command: add_date}\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: a tool by becket's name",
        "unknown_tool",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - matcher: write\n    hooks:\n      - {type: command, command: 'true'}\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: a folder to run in that is not there",
        "missing_folder",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - hooks:\n      - {type: command, command: 'true', working_dir: \
         /nonexistent}\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: a script that is nowhere",
        "missing_program",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - hooks:\n      - {type: command, command: 'node /nope/x.js'}\n",
            false,
        )],
    ),
    mistake(
        "chibi: a refusal after the call",
        "meaningless_field",
        "plugins",
        &[(
            "plugins/p",
            "#!/bin/sh\nif [ \"$1\" = --schema ]; then\n  echo \
         '{\"name\":\"p\",\"description\":\"d\",\"hooks\":[\"post_tool\"]}'\n  exit\nfi\necho \
         '{\"block\": true}'\n",
            true,
        )],
    ),
    mistake(
        "chibi: a word of another system",
        "meaningless_field",
        "plugins",
        &[(
            "plugins/p",
            "#!/bin/sh\nif [ \"$1\" = --schema ]; then\n  echo \
         '{\"name\":\"p\",\"description\":\"d\",\"hooks\":[\"pre_tool\"]}'\n  exit\nfi\necho \
         '{\"decision\": \"block\"}'\n",
            true,
        )],
    ),
    mistake(
        "chibi: hook where hooks is meant",
        "unknown_event",
        "plugins",
        &[(
            "plugins/p",
            "#!/bin/sh\necho '{\"name\":\"p\",\"description\":\"d\",\"hook\":[\"pre_tool\"]}'\n",
            true,
        )],
    ),
    mistake(
        "chibi: a plugin that its shell cannot read",
        "bad_script",
        "plugins",
        &[(
            "plugins/p",
            "#!/bin/sh\nif [ \"$1\" = --schema ]; then\n  echo \
         '{\"name\":\"p\",\"description\":\"d\",\"hooks\":[\"pre_tool\"]}'\n  exit\nfi\nif true; \
         then\n",
            true,
        )],
    ),
    mistake(
        "pi: a module that is not there",
        "missing_program",
        "gate.ts",
        &[(
            "gate.ts",
            "import x from \"./nosuch\";\nexport default function (pi: any) {\n  pi.on(\"tool_call\", \
         async () => { x(); });\n}\n",
            false,
        )],
    ),
    mistake(
        "pi: a default export that is no function",
        "bad_script",
        "gate.ts",
        &[("gate.ts", "export default { name: \"x\" };\n", false)],
    ),
    mistake(
        "pi: a refusal that is misspelt",
        "meaningless_field",
        "gate.ts",
        &[(
            "gate.ts",
            "export default function (pi: any) {\n  pi.on(\"tool_call\", async () => ({ blok: true, \
         reason: \"x\" }));\n}\n",
            false,
        )],
    ),
    mistake(
        "pi: a refusal where nothing is refused",
        "meaningless_field",
        "gate.ts",
        &[(
            "gate.ts",
            "export default function (pi: any) {\n  pi.on(\"turn_end\", async () => { return { block: \
         true }; });\n}\n",
            false,
        )],
    ),
    mistake(
        "pi: a tool by another system's name",
        "unknown_tool",
        "gate.ts",
        &[(
            "gate.ts",
            "export default function (pi: any) {\n  pi.on(\"tool_call\", async (e) => { if (e.toolName \
         === \"Bash\") return { block: true }; });\n}\n",
            false,
        )],
    ),
    mistake(
        "pi: a member that there is not",
        "bad_script",
        "gate.ts",
        &[(
            "gate.ts",
            "export default function (pi: any) {\n  pi.registerTol({ name: \"x\" });\n}\n",
            false,
        )],
    ),
];

/// Hooks that are right and look as if they were not.
// tidy: a table
const CLEAN: &[Mistake] = &[
    right(
        "a function of a file that is sourced",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = '. \"$BECKET_HOOK_DIR/lib.sh\"; check'\n",
                false,
            ),
            ("lib.sh", "check() { cat >/dev/null; }\n", false),
        ],
    ),
    right(
        "the same in a script",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./s.sh\"]\n",
                false,
            ),
            ("lib.sh", "check() { cat >/dev/null; }\n", false),
            ("s.sh", "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\ncheck\n", true),
        ],
    ),
    right(
        "a file that only a run finds",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = '. \"$HOME/.guards/$USER.sh\"; check'\n",
            false,
        )],
    ),
    right(
        "a path of its own",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = 'PATH=\"$BECKET_HOOK_DIR/bin:$PATH\" mytool'\n",
                false,
            ),
            ("bin/mytool", "#!/bin/sh\n", true),
        ],
    ),
    right(
        "a path with a space, in quotes",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = '\"$BECKET_HOOK_DIR/dir with space/ok.sh\" x'\n",
                false,
            ),
            ("dir with space/ok.sh", "#!/bin/sh\nexit 0\n", true),
        ],
    ),
    right(
        "two hooks that never meet",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = \"shell\" }\ncommand = '''echo \
         '{\"arguments\": {\"x\": 1}}' '''\n[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = \
         \"read\" }\ncommand = '''echo '{\"arguments\": {\"x\": 2}}' '''\n",
            false,
        )],
    ),
    right(
        "what is said on standard error",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = '''\n# echo '{\"decision\": \"x\"}'\necho \"log: \
         {\\\"content\\\": 1}\" >&2\n'''\n",
            false,
        )],
    ),
    right(
        "what is written to a file",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"post_tool\"\ncommand = '''\necho '{\"verdict\": \"x\"}' >> \
         audit.log\n{ echo '{\"verdict\": 1}'; } > more.log\n'''\n",
            false,
        )],
    ),
    right(
        "what goes into another program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"post_tool\"\ncommand = '''echo \"{\\\"verdict\\\": 1}\" | tail -n 0'''\n",
            false,
        )],
    ),
    right(
        "what a variable takes",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = '''\nsay() { echo '{\"text\": \"done\"}'; \
         }\nbody=$(echo '{\"text\": 1}')\ntest -n \"$body$(say)\"\n'''\n",
            false,
        )],
    ),
    right(
        "an answer in all its words",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = '''\nif grep -q rm; then echo '{\"verdict\": \
         {\"deny\": \"no\"}, \"notice\": [\"x\"]}'; else echo '{\"verdict\": \"allow\"}'; fi\n'''\n",
            false,
        )],
    ),
    right(
        "a script behind an interpreter",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"sh\", \"guard.sh\"]\n[[hook]]\nevent = \
             \"pre_tool\"\ncommand = \"sh -e $BECKET_HOOK_DIR/guard.sh\"\n",
                false,
            ),
            ("guard.sh", "exit 0\n", false),
        ],
    ),
    right(
        "a script in the words of bash",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            (
                "guard.sh",
                "#!/usr/bin/env bash\nnames=(a b)\n[[ ${names[0]} == a ]] && exit 0\n",
                true,
            ),
        ],
    ),
    right(
        "a pattern with a wildcard",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { arguments = { command = { glob = \"*rm -rf*\" } \
         } }\ncommand = \"true\"\n",
            false,
        )],
    ),
    right(
        "docker-agent: two hooks that never meet",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - matcher: shell\n    hooks:\n      - type: command\n        command: \
         |\n          echo '{\"hook_specific_output\": {\"updated_input\": {\"cmd\": \
         \"shell\"}}}'\n  - matcher: read_file\n    hooks:\n      - type: command\n        command: \
         |\n          echo '{\"hook_specific_output\": {\"updated_input\": {\"cmd\": \
         \"read_file\"}}}'\n",
            false,
        )],
    ),
    right(
        "docker-agent: a decision",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - hooks:\n      - {type: command, command: \"echo '{\\\"decision\\\": \
         \\\"block\\\", \\\"reason\\\": \\\"x\\\"}'\"}\n",
            false,
        )],
    ),
    right(
        "chibi: a refusal",
        "plugins",
        &[(
            "plugins/p",
            "#!/bin/sh\nif [ \"$1\" = --schema ]; then\n  echo \
         '{\"name\":\"p\",\"description\":\"d\",\"hooks\":[\"pre_tool\"]}'\n  exit\nfi\necho \
         '{\"block\": true, \"message\": \"x\"}'\n",
            true,
        )],
    ),
    right(
        "pi: a default export by another name",
        "gate.ts",
        &[(
            "gate.ts",
            "function g(pi: any) { pi.on(\"turn_end\", () => {}); }\nexport { g as default };\n",
            false,
        )],
    ),
    right(
        "pi: a default export of another file",
        "gate.ts",
        &[
            ("gate.ts", "export { default } from \"./other\";\n", false),
            ("other.ts", "export default function (pi: any) {\n  \n}\n", false),
        ],
    ),
    right(
        "pi: events in comments and texts",
        "gate.ts",
        &[(
            "gate.ts",
            "export default function (pi: any) {\n  // pi.on(\"tool_cal\", () => {})\n  /* \
         pi.on(\"bogus\") */\n  const s = `pi.on(\"nope\", x)`;\n  pi.on(\"agent_start\", async () \
         => { s; });\n}\n",
            false,
        )],
    ),
    right(
        "pi: types of a module that is not there",
        "gate.ts",
        &[(
            "gate.ts",
            "import type { X } from \"./nosuch\";\nimport * as fs from \"node:fs\";\nimport type { \
         ExtensionAPI } from \"@mariozechner/pi-coding-agent\";\nexport default function (pi: \
         ExtensionAPI) {\n  fs.existsSync(\"x\");\n}\n",
            false,
        )],
    ),
    right(
        "pi: answers of all kinds",
        "gate.ts",
        &[(
            "gate.ts",
            "export default function (pi: any) {\n  pi.on(\"tool_call\", (e: any) => e.toolName === \
         \"my_tool\" ? { block: true, reason: \"x\" } : undefined);\n  pi.on(\"input\", () => { \
         const o = { decision: 1 }; return { action: \"transform\", text: String(o) }; });\n  \
         pi.registerTool({ name: \"my_tool\" });\n}\n",
            false,
        )],
    ),
];

fn seed(room: &Room, mistake: &Mistake) {
    for (name, text, executable) in mistake.files {
        let file = room.write(name, text);
        let mode = if *executable { 0o755 } else { 0o644 };
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("it is there");
    }
}

#[test]
fn seeded_mistakes_are_found() {
    assert!(MISTAKES.len() >= 40, "the corpus only grows");
    let mut missed = Vec::new();
    for mistake in MISTAKES {
        let room = room();
        seed(&room, mistake);
        let run = room.run(["hooks", "check", "--json", mistake.path]);
        let told: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let kinds: Vec<&str> = told["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|finding| finding["kind"].as_str())
            .collect();
        if !kinds.contains(&mistake.kind) {
            missed.push(format!("{}: {kinds:?} {}", mistake.what, run.stderr));
        }
    }
    assert!(missed.is_empty(), "all of them were found once: {missed:#?}");
}

#[test]
fn nothing_is_reported_on_hooks_that_are_right() {
    let mut reported = Vec::new();
    for clean in CLEAN {
        let room = room();
        seed(&room, clean);
        let run = room.run(["hooks", "check", "--json", clean.path]);
        let told: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        if run.code != 0 || told["findings"].as_array().is_none_or(|found| !found.is_empty()) {
            reported.push(format!("{}: {told:#} {}", clean.what, run.stderr));
        }
    }
    assert!(reported.is_empty(), "{}", reported.join("\n"));
}

#[test]
fn a_folder_is_searched_downwards_and_one_without_hooks_is_not_green() {
    let room = room();
    let wrong = "[[hook]]\nevent = \"pre_tol\"\ncommand = \"true\"\n";
    for file in [
        "a/b/h.toml",
        ".becket/becket.toml",
        "node_modules/x/h.toml",
        "target/h.toml",
        ".cache/h.toml",
    ] {
        room.write(file, wrong);
    }
    room.write(
        ".pi/extensions/gate.ts",
        "export default function (pi: any) {\n  pi.on(\"tool_cal\", () => {});\n}\n",
    );
    room.write(
        "agents/a.yaml",
        "agents:\n  root:\n    model: openai/x\n    instruktion: hi\n",
    );
    room.write("Cargo.toml", "[package]\nname = \"x\"\n");
    room.write("compose.yaml", "services:\n  web:\n    command: x\n");
    room.write("src/index.ts", "export const x = 1;\nexport default { x };\n");
    let run = room.run(["hooks", "check", "--json", "."]).ended_with(1);
    let told: Value = serde_json::from_str(&run.stdout).expect("one object");
    let files: Vec<&str> = told["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|finding| finding["file"].as_str())
        .collect();
    let expected = [
        "./.becket/becket.toml",
        "./.pi/extensions/gate.ts",
        "./a/b/h.toml",
        "./agents/a.yaml",
    ];
    assert_eq!(files, expected, "{run:#?}");
    room.run(["hooks", "check", "src"])
        .ended_with(2)
        .complained("there are no hooks in src");
}

#[test]
fn a_link_to_a_plugin_that_is_gone_is_told() {
    let room = room();
    room.script("plugins/there", "#!/bin/sh\n");
    std::os::unix::fs::symlink("/nowhere/guard", room.work().join("plugins/guard")).expect("it is new");
    let run = room.run(["hooks", "check", "plugins"]).ended_with(1);
    assert!(run.stdout.contains("plugins/guard"), "{run:#?}");
    assert!(run.stdout.ends_with("2 hooks in 2 files: 1 wrong\n"), "{run:#?}");
}

#[test]
fn nothing_is_reported_on_the_examples() {
    for folder in [
        "examples",
        "examples/docker-agent",
        "examples/pi",
        "examples/chibi/plugins",
        "examples/chibi/older/plugins",
    ] {
        let room = room();
        let run = room
            .run(["hooks", "check", &repository_file(folder)])
            .ended_with(0);
        let lines: Vec<&str> = run
            .stdout
            .lines()
            .filter(|line| !line.contains("becket's own serves the hook"))
            .collect();
        assert_eq!(lines.len(), 1, "{folder}: {run:#?}");
        assert!(lines[0].ends_with(": no problems found"), "{folder}: {run:#?}");
    }
}

#[test]
fn a_script_that_uses_jq_where_there_is_none_is_told_whose_jq_serves_it() {
    let room = room();
    room.script("../bin/cat", "#!/bin/sh\n");
    let path = room.work().join("../bin").display().to_string();
    let room = room.with("PATH", &path);
    room.write(
        "h.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
    );
    room.script("guard.sh", "#!/bin/sh\ncat | jq -r .tool_name\n");
    let run = room.run(["hooks", "check", "h.toml"]).ended_with(0);
    assert!(run.stdout.contains("becket's own serves the hook"), "{run:#?}");
}

#[test]
fn findings_are_told_in_sarif() {
    let room = room();
    room.write("h.toml", "[[hook]]\nevent = \"pre_tol\"\ncommand = \"true\"\n");
    let run = room
        .run(["hooks", "check", "--format", "sarif", "h.toml"])
        .ended_with(1);
    let log: Value = serde_json::from_str(&run.stdout).expect("one object");
    assert_eq!(log["version"], "2.1.0");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "configuration");
    assert_eq!(result["level"], "error");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "h.toml");
    assert_eq!(place["region"]["startLine"], 2);
    assert_eq!(
        log["runs"][0]["tool"]["driver"]["rules"][0]["id"],
        "configuration"
    );
}

#[test]
fn sarif_names_files_as_code_hosts_do() {
    let room = room();
    room.write(
        "my hooks/h.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
    );
    room.script("my hooks/guard.sh", "#!/bin/sh\nif true; then\n");
    let run = room
        .run(["hooks", "check", "--format", "sarif", "./my hooks/h.toml"])
        .ended_with(1);
    let log: Value = serde_json::from_str(&run.stdout).expect("one object");
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "my%20hooks/guard.sh", "{log:#}");
}

#[test]
fn everything_that_counts_here_is_checked_plugins_and_extensions_too() {
    let room = room();
    room.script(
        "../home/.chibi/plugins/guard",
        "#!/bin/bash\necho '{\"name\":\"guard\",\"description\":\"x\",\"hooks\":[\"pre_tol\"]}'\n",
    );
    room.write(
        "gate.ts",
        "export default function (pi: any) {\n  pi.on(\"tool_cal\", async () => undefined);\n}\n",
    );
    let run = room.run(["hooks", "check", "-e", "gate.ts"]).ended_with(1);
    assert!(run.stdout.contains("there is no event `pre_tol`"), "{run:#?}");
    assert!(
        run.stdout.contains("gate.ts:2: there is no event `tool_cal`"),
        "{run:#?}"
    );
    assert!(run.stdout.contains("did you mean `tool_call`?"), "{run:#?}");
}
