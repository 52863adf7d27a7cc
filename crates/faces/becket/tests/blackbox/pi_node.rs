//! What extensions find of Node in the real program: requests of the old interface, packages that are installed for
//! everything, and what `becket doctor` says about extensions.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::json;
use testkit::Room;

use crate::room;

/// The checksum of `squeezed words`.
const CHECKSUM: u32 = 0xb8ff_2a37;

/// Answers requests on a port of this machine until the test is over, and gives back its address.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    address
}

/// Reads a request and answers it by its path.
fn answer(mut stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    };
    let length = header("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1).unwrap_or_default();
    let close = "connection: close\r\n";
    match path {
        "/moved" => write!(
            stream,
            "HTTP/1.1 302 Found\r\n{close}location: /squeezed\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\
             x-many: 1\r\nx-many: 2\r\ncontent-length: 0\r\n\r\n"
        )
        .ok(),
        "/squeezed" => {
            let bytes = squeezed();
            let size = bytes.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\n{close}content-encoding: gzip\r\nx-wanted: {}\r\ncontent-length: {size}\r\n\r\n",
                header("accept-encoding").unwrap_or_default()
            )
            .ok()?;
            stream.write_all(&bytes).ok()
        }
        "/hang" => {
            std::thread::park_timeout(std::time::Duration::from_secs(20));
            None
        }
        _ => {
            let told = format!(
                "{} {} {}",
                head.split("\r\n").next().unwrap_or_default(),
                header("x-own").unwrap_or_default(),
                String::from_utf8_lossy(&body)
            );
            write!(
                stream,
                "HTTP/1.1 200 OK\r\n{close}content-length: {}\r\n\r\n{told}",
                told.len()
            )
            .ok()
        }
    }
}

fn squeezed() -> Vec<u8> {
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let text = b"squeezed words";
    // One block that is stored as it is.
    let length = text.len() as u16;
    let mut bytes = head.to_vec();
    bytes.push(1);
    bytes.extend(length.to_le_bytes());
    bytes.extend((!length).to_le_bytes());
    bytes.extend(text);
    bytes.extend(CHECKSUM.to_le_bytes());
    bytes.extend(u32::from(length).to_le_bytes());
    bytes
}

/// What the lines that begin with `told:` say.
fn told(room: &Room, options: &[&str]) -> Vec<String> {
    let model = room.model(&json!([{"text": "fine"}]));
    let mut words = vec!["--model", &model];
    words.extend(options);
    words.push("go");
    let run = room.run(words).ended_with(0);
    let lines = run.stderr.lines();
    lines
        .filter_map(|line| line.split("told: ").nth(1))
        .map(str::to_owned)
        .collect()
}

#[test]
fn requests_of_the_old_interface_reach_a_real_server() {
    let room = room();
    let address = server();
    room.write(
        "asks.ts",
        format!(
            r#"import * as http from "node:http"; import zlib from "zlib"; import {{ text }} from "stream/consumers";
            const tell = (...values: any[]) => console.error("told: " + JSON.stringify(values));
            const begun = (path: string, options: any = {{}}, body?: string) => new Promise<any>((done, fail) => {{
                const request = http.request("{address}" + path, options, done);
                request.on("error", fail).end(body);
            }});
            export default (pi: any) => pi.on("session_start", async () => {{
                const moved = await begun("/moved");
                tell(moved.statusCode, moved.headers.location, moved.headers["set-cookie"], moved.headers["x-many"]);
                const small = await begun("/squeezed", {{ headers: {{ "Accept-Encoding": "gzip, br" }} }});
                tell(await text(small.pipe(zlib.createGunzip())), small.headers["x-wanted"]);
                const posted = await begun("/echo?x=1", {{ method: "POST", headers: {{ "X-Own": "mine" }} }}, "a body");
                tell(await text(posted));
                const failed = await begun("/", {{ port: 1 }}).catch((error) => error);
                tell(failed.code);
                await new Promise<void>((done) => {{
                    const slow = http.get("{address}/hang", {{ timeout: 5 }});
                    slow.on("timeout", () => slow.destroy(new Error("too slow"))).on("error", (error: any) => {{
                        tell(error.message);
                        done();
                    }});
                }});
            }});"#
        ),
    );
    assert_eq!(
        told(&room, &["-e", "asks.ts"]),
        [
            r#"[302,"/squeezed",["a=1","b=2"],"1, 2"]"#,
            r#"["squeezed words","gzip"]"#,
            r#"["POST /echo?x=1 HTTP/1.1 mine a body"]"#,
            r#"["ECONNREFUSED"]"#,
            r#"["too slow"]"#,
        ]
    );
    room.config("[pi]\nnetwork = false\n");
    room.write(
        "refused.ts",
        r#"import http from "http";
        export default (pi: any) => pi.on("session_start", () => new Promise<void>((done) => {
            http.get("http://127.0.0.1:1/").on("error", (error: any) => {
                console.error("told: " + error.code + " " + error.message);
                done();
            });
        }));"#,
    );
    let refused = told(&room, &["-e", "refused.ts"]);
    assert!(
        refused.len() == 1
            && refused[0].starts_with("ERR_ACCESS_DENIED")
            && refused[0].contains("pi.network"),
        "{refused:?}"
    );
}

#[test]
fn packages_that_are_installed_for_everything_are_found() {
    let room = room();
    let says = |name: &str| {
        format!(
            "export default (pi: any) => {{ pi.on('session_start', () => console.error('told: {name}')); }};"
        )
    };
    room.write(
        "../home/.pi/agent/settings.json",
        r#"{"packages": ["npm:pack@1", "npm:gone"]}"#,
    );
    room.write(
        "../home/kept/lib/node_modules/pack/package.json",
        r#"{"pi": {"extensions": ["x.ts"]}}"#,
    );
    room.write("../home/kept/lib/node_modules/pack/x.ts", says("pack"));
    room.write("../home/kept/lib/node_modules/@a/given/index.ts", says("given"));
    room.write("../home/.npmrc", "prefix=~/kept\n");
    let given = ["-e", "npm:@a/given", "--without", "npm:gone"];
    assert_eq!(told(&room, &given), ["given", "pack"]);
    let found = room.run(["doctor"]).ended_with(1).said("ok    extension pack");
    assert!(
        found.stdout.contains("npm:gone (") && found.stdout.contains("try `pi install npm:gone`"),
        "{found:#?}"
    );
    let model = room.model(&json!([{"text": "fine"}]));
    let run = room
        .run(["--model", &model, "-e", "npm:absent", "go"])
        .ended_with(2);
    assert!(run.stderr.contains("pi install npm:absent"), "{run:#?}");
}

#[test]
fn doctor_says_of_each_extension_whether_it_loads_and_where_it_does_not() {
    let room = room();
    let folder = "../home/.pi/agent/extensions";
    room.write(
        &format!("{folder}/fine.ts"),
        "export default (pi: any) => {
            pi.on('tool_call', () => undefined);
            pi.registerCommand('hello', { handler() {} });
            pi.registerTool({ name: 'shout', description: 'x', parameters: {}, execute: () => ({ content: [] }) });
        };",
    );
    room.run(["doctor"])
        .ended_with(0)
        .said("fine.ts, embedded); hooks tool_call; tools shout; commands hello");
    room.write(&format!("{folder}/grammar.ts"), "export default (pi => {");
    room.write(
        &format!("{folder}/throws.ts"),
        "export default () => {\n    throw new Error('on purpose');\n};",
    );
    room.write(
        &format!("{folder}/wants.ts"),
        "\nimport x from 'not-there';\nexport default () => x;",
    );
    let run = room.run(["doctor"]).ended_with(1);
    for (name, words) in [
        ("grammar", "grammar.ts:1:"),
        ("throws", "throws.ts:2:"),
        ("wants", "wants.ts:2:"),
    ] {
        let begin = format!("wrong extension {name} (");
        let line = run.stdout.lines().find(|line| line.starts_with(&begin));
        assert!(line.is_some_and(|line| line.contains(words)), "{name}: {run:#?}");
    }
    assert!(run.stdout.contains("ok    extension fine"), "{run:#?}");
    assert!(!run.stderr.contains("could not be loaded"), "said once: {run:#?}");
    let findings = room.run(["doctor", "--json"]).ended_with(1).events();
    let wrong = findings.iter().filter(|finding| finding["ok"] == false).count();
    assert_eq!(wrong, 3, "{findings:#?}");
    room.run(["doctor", "--no-extensions"]).ended_with(0);
}
