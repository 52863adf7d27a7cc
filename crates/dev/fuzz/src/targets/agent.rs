//! Readers of the agent: patterns, rules, addresses, scripts, programs for jq, source code, web pages.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use arbtest::arbitrary::{Result, Unstructured};
use becket::readers::{READERS, Reader};
use becket_agent::url_policy::{
    PolicyLists, UrlPolicy, UrlVerdict, check_glob, check_rule, leaves_host_open, read_url,
    without_credentials,
};
use becket_agent::vfs::VfsPath;
use becket_agent::{RuledCall, Rules};
use becket_hooks::{Pattern, plain_words};
use becket_store::ContextName;
use serde_json::{Map, Value};

use crate::text::{either, json_text, text};

/// The reader of the program with that name.
pub fn reader(name: &str) -> Reader {
    let found = READERS.iter().find(|(known, _)| *known == name);
    found.expect("there is a reader of that name").1
}

const GLOBS: &[&str] = &[
    "*", "**", "?", "{", "}", ",", "[", "]", "!", "^", "-", "\\", "a", "b", "/", ".", "é", "[a-z]", "{a,b}",
    "[!a]", "(", ")", "|", "+", "$", "{1,3}", "(?i)", "\\d", "(?:", "..",
];

pub fn patterns(u: &mut Unstructured<'_>) -> Result<()> {
    let (pattern, subject) = (text(u, GLOBS)?, text(u, GLOBS)?);
    for made in [Pattern::glob(&pattern), Pattern::regex(&pattern)]
        .into_iter()
        .flatten()
    {
        made.matches(&subject);
    }
    drop(plain_words(&pattern));
    Ok(())
}

pub fn rules(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "shell",
        "read",
        "write",
        "(",
        ")",
        "command",
        "path",
        "=",
        ":",
        "*",
        "{",
        "}",
        "[",
        "]",
        ",",
        " ",
        "\"",
        "vfs:///",
        "mcp:",
        "Bash",
        "shell(rm *)",
        "read(path = /etc/**)",
        "!",
        "\\",
        "fetch(url:*)",
    ];
    let list = |u: &mut Unstructured<'_>| -> Result<Vec<String>> {
        let count = u.int_in_range(0..=3)?;
        (0..count).map(|_| text(u, WORDS)).collect()
    };
    let (deny, allow, ask) = (list(u)?, list(u)?, list(u)?);
    if let Ok(rules) = Rules::parse(&deny, &allow, &ask) {
        let mut arguments = Map::new();
        arguments.insert("command".into(), Value::from(text(u, WORDS)?));
        let subject = text(u, WORDS)?;
        let _ = rules.judge(RuledCall {
            tool_name: "shell",
            called_as: "Bash",
            arguments: &arguments,
            path: Some(Path::new(&subject)),
            pair: None,
            directory: Path::new("/room"),
            web: None,
        });
    }
    Ok(())
}

const URLS: &[&str] = &[
    "http://",
    "https://",
    "*",
    "localhost",
    "127.0.0.1",
    "[::1]",
    "@",
    ":",
    "/",
    "//",
    "?",
    "#",
    "%2e",
    "..",
    "example.com",
    "0x7f.1",
    "xn--",
    "é",
    "\\",
    "\t",
    "\n",
    "file:///",
    "loopback",
    "private",
    "sensitive",
    ":0",
    ":99999",
    "[",
    "]",
    "user:pw@",
    "{",
    "}",
    "169.254.169.254",
];

pub fn url_rules(u: &mut Unstructured<'_>) -> Result<()> {
    let rule = text(u, URLS)?;
    let lists = PolicyLists {
        deny: vec![rule.clone()],
        allow: vec![text(u, URLS)?],
        ..PolicyLists::default()
    };
    let _ = UrlPolicy::parse(&lists, UrlVerdict::Ask);
    for verdict in [UrlVerdict::Allow, UrlVerdict::Deny] {
        let _ = (check_glob(&rule, verdict), check_rule(&rule, verdict));
    }
    leaves_host_open(&rule);
    Ok(())
}

pub fn urls(u: &mut Unstructured<'_>) -> Result<()> {
    let address = either(u, &["https://user:pw@example.com:8080/a/../b?c#d"], URLS)?;
    let _ = (read_url(&address), without_credentials(&address));
    Ok(())
}

pub fn addresses(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "vfs:///", "vfs://", "/", "..", ".", "tools", "shared", "home", "a", "%2e", "\0", "\\", "é", "//",
        "?", "#", " ",
    ];
    let address = text(u, WORDS)?;
    for path in [VfsPath::parse(&address), VfsPath::from_path(&address)]
        .into_iter()
        .flatten()
    {
        assert!(!path.as_str().contains("/../"), "{path}");
        let again = VfsPath::parse(&path.to_string()).expect("an address reads back");
        assert_eq!(again.as_str(), path.as_str());
    }
    let _ = (VfsPath::is_meant_by(&address), ContextName::parse(&address));
    Ok(())
}

const SHELL: &[&str] = &[
    "echo ",
    "\"",
    "'",
    "`",
    "$(",
    ")",
    "${",
    "}",
    "$((",
    "))",
    "<<EOF\n",
    "EOF\n",
    "<<-'A'\n",
    "|",
    "||",
    "&&",
    ";",
    "\n",
    "&",
    "(",
    "{ ",
    "if ",
    "then ",
    "fi",
    "case x in ",
    "a) ",
    ";;",
    "esac",
    "for i in ",
    "do ",
    "done",
    "while ",
    "function f() ",
    "source ",
    ". ",
    "bash -c ",
    "eval ",
    "exec ",
    "sh ",
    "./a.sh",
    "$1",
    "$@",
    "\\",
    "#",
    "<(",
    ">",
    ">>",
    "2>&1",
    "jq ",
    "-f ",
    "cat ",
    "/etc/x",
    "~",
    "*",
    "[[ ",
    " ]]",
    "! ",
    "printf '%s\\n' ",
    "{\"decision\":\"deny\"}",
    "python3 ",
    "node ",
    "trap ",
    "alias ",
    "coproc ",
    "select x ",
    "time -p ",
    "sudo -u root ",
    "xargs -r ",
    "find -exec ",
    "x=(",
    "PATH+=",
    "@(",
    "{a,b}",
    "$'",
    "\\`",
    "<<<",
    "<>",
    "\r",
];

const SCRIPTS: &[&str] = &[
    "#!/bin/sh\nINPUT=$(cat)\nCMD=$(echo \"$INPUT\" | jq -r .arguments.command)\ncase \"$CMD\" in *rm*) echo '{\"verdict\":\"deny\"}' ;; esac\n. \"$(dirname \"$0\")/lib.sh\"\n",
    "cat <<EOF\n{\"decision\": \"block\"}\nEOF\nexit 2\n",
];

pub fn read_shell(u: &mut Unstructured<'_>) -> Result<()> {
    let script = either(u, SCRIPTS, SHELL)?;
    let read = becket_shell::read(&script);
    becket_shell::programs(&script);
    let documents = read.documents.iter().map(|document| &document.span);
    for span in read.commands.iter().map(|command| &command.span).chain(documents) {
        assert!(script.get(span.clone()).is_some(), "{span:?}");
    }
    Ok(())
}

pub fn follow_shell(u: &mut Unstructured<'_>) -> Result<()> {
    reader("follow_shell")(&either(u, SCRIPTS, SHELL)?);
    Ok(())
}

pub fn check_shell(u: &mut Unstructured<'_>) -> Result<()> {
    reader("check_shell")(&either(u, SCRIPTS, SHELL)?);
    Ok(())
}

pub fn follow_python(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "import ",
        "from ",
        ".",
        "..",
        "a",
        " as b",
        "\n",
        "    ",
        "\"\"\"",
        "'",
        "\"",
        "#",
        "open(",
        ")",
        "(",
        "subprocess.run([",
        "exec(",
        "__import__(",
        "os.path.join(",
        "Path(__file__)",
        ", ",
        "\\",
        "f\"{",
        "}",
        "importlib",
        "sys.path",
        ":",
    ];
    const TEXTS: &[&str] =
        &["import os, sys\nfrom .lib import a\nsubprocess.run(['sh', 'a.sh'])\nopen('x').read()\n"];
    reader("follow_python")(&either(u, TEXTS, WORDS)?);
    Ok(())
}

pub fn follow_scheme(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "(",
        ")",
        "import ",
        "include ",
        "load ",
        "\"a.scm\"",
        "'",
        ";",
        "#|",
        "|#",
        "#;",
        "\"",
        "\\",
        "a",
        "#\\(",
        "\n",
        "(scheme base)",
    ];
    reader("follow_scheme")(&text(u, WORDS)?);
    Ok(())
}

// tidy: a table
/// Compiles programs for jq, which are not run since they may loop for ever; inputs are run through programs that end.
pub fn jq(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        ".",
        ".a",
        "|",
        ",",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "\"",
        "\\(",
        "if ",
        " then ",
        " else ",
        " end",
        "def f: ",
        ";",
        "reduce ",
        " as $x ",
        "foreach ",
        "..",
        "?",
        "//",
        "=",
        "|=",
        "+",
        "-",
        "*",
        "/",
        "%",
        "and",
        "or",
        "not",
        "try ",
        " catch ",
        "test(\"a\")",
        "@base64",
        "$ENV",
        "$x",
        "label $f | ",
        "break $f",
        "1",
        "1e1000",
        "null",
        "input",
        "limit(1; ",
        "splits(",
        "as [$a, {b: $c}]",
        "?//",
        "@json \"",
        "#",
        "import \"a\" as b;",
        "..a",
    ];
    const PROGRAMS: &[&str] = &[
        ".",
        "..",
        "keys?",
        "tojson",
        "tostring|fromjson?",
        "[paths]",
        "map_values(.)?",
        "@sh?",
        "@csv?",
        "ascii_downcase?",
        "length?",
        "to_entries?",
        "test(\"a+\")?",
        "ltrimstr(\"a\")?",
        "tonumber?",
        "sort?",
        "group_by(.)?",
        "flatten?",
        "@uri",
        "@html",
        "implode?",
        "explode?",
        "strptime(\"%Y\")?",
        "todate?",
        "gmtime?",
        "localtime?",
        "mktime?",
        "strftime(\"%c\")?",
        "fromdate?",
        "walk(.)",
        "fromjson?",
        "splits(\"a\")?",
        "getpath([\"a\",0])?",
        ".[2:4]?",
        "limit(3; .[]?)",
        "-e .a?",
    ];
    let (program, input) = match u.ratio(1, 2)? {
        true => (format!("empty | ({})", text(u, WORDS)?), "null".to_owned()),
        false => ((*u.choose(PROGRAMS)?).to_owned(), json_text(u, WORDS)?),
    };
    let option = *u.choose(&[
        "-c", "-r", "-j", "-s", "-R", "-S", "-a", "--tab", "-n", "--seq", "--stream",
    ])?;
    let mut stdout = Vec::new();
    becket_jq::run(
        [option, &program].map(OsString::from),
        becket_jq::World {
            variables: &BTreeMap::new(),
            stdin: Box::new(input.as_bytes()),
            stdout: &mut stdout,
            stderr: Box::new(std::io::sink()),
        },
    );
    Ok(())
}

const JAVASCRIPT: &[&str] = &[
    "import ",
    "from ",
    "\"./a.js\"",
    "'",
    "`",
    "${",
    "}",
    "{",
    "(",
    ")",
    "require(",
    "export default ",
    "=>",
    "pi.on(\"tool_call\", ",
    "async ",
    "function ",
    "const x = ",
    ";",
    "\n",
    "//",
    "/*",
    "*/",
    "/a[/]b/g",
    "<T>",
    "interface A ",
    "type B = ",
    ": any",
    "as ",
    "class C ",
    "import(",
    "__dirname",
    "\\u{",
    "#x",
    "?.",
    "...",
    "await ",
    "@d ",
    "enum E ",
    "declare ",
    "satisfies ",
    "?",
];

const EXTENSIONS: &[&str] = &[include_str!("../seeds/gate.ts")];

pub fn imports(u: &mut Unstructured<'_>) -> Result<()> {
    let source = either(u, EXTENSIONS, JAVASCRIPT)?;
    drop(becket_js::imports(Path::new("/nowhere/a.ts"), &source));
    drop(becket_js::outline(Path::new("/nowhere/a.ts"), &source, "pi"));
    Ok(())
}

pub fn index(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "fn a",
        "(",
        ")",
        "{",
        "}",
        "struct ",
        "impl ",
        "<",
        ">",
        "def ",
        ":",
        "\n    ",
        "class ",
        "func ",
        "type ",
        "interface ",
        "package ",
        "import ",
        "\"",
        "'",
        "/*",
        "*/",
        "//",
        "#",
        "macro_rules! ",
        "=>",
        ";",
        "[",
        "]",
        "a.b",
        "::",
        "\\",
        "é",
        "@",
        "template",
        "#define ",
        "#if ",
        "lambda ",
        "async ",
    ];
    const TEXTS: &[&str] = &[
        "fn main() { let a = b(1); }\nstruct A { b: u8 }\nimpl A { fn c(&self) {} }\n",
        "class A(B):\n    def c(self, d: int) -> str:\n        return e(d)\n",
    ];
    let name = *u.choose(&["a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.c", "a.java"])?;
    let source = either(u, TEXTS, WORDS)?;
    let _ = becket_index::extracted(Path::new(name), source.as_bytes());
    Ok(())
}

pub fn page(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "<",
        ">",
        "</",
        "/>",
        "<div>",
        "</div>",
        "<p>",
        "<ul><li>",
        "<ol>",
        "<table><tr><td>",
        "<a href=\"",
        "\">",
        "<pre>",
        "<code>",
        "<script>",
        "</script>",
        "<style>",
        "<!--",
        "-->",
        "<![CDATA[",
        "&amp;",
        "&#",
        "&#x110000;",
        ";",
        "&nbsp",
        "<blockquote>",
        "<h1>",
        "<br>",
        "<img alt='",
        "'",
        "\n",
        " ",
        "a",
        "é",
        "<textarea>",
        "<?",
        "<!DOCTYPE",
        "=",
    ];
    let base = url::Url::parse("https://example.com/a/b").expect("an address");
    drop(becket_tools::page_text(&text(u, WORDS)?, &base));
    Ok(())
}

/// Short texts that a user types: times, names, commands for events, arguments of tools.
pub fn words(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "1",
        "7d",
        "h",
        "m",
        "s",
        "-",
        ":",
        "T",
        "Z",
        "2026-01-01",
        "yesterday",
        "99999999999999999999",
        "=",
        "a",
        "*",
        ".",
        "{",
        "}",
        "\"",
        "é",
        " ago",
        "+",
    ];
    let text = text(u, WORDS)?;
    reader("moments")(&text);
    reader("words")(&text);
    Ok(())
}
