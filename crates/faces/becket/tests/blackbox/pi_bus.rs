//! The bus on which extensions of pi's talk to each other.

use serde_json::json;

use crate::room;

const SPEAKER: &str = "
export default (pi: any) => {
    pi.on('input', () => { for (let i = 0; i < 200; i++) pi.events.emit('count', i); });
    pi.on('agent_settled', () => pi.events.emit('count', 'the end'));
};";

/// Hears slowly, so that words would overtake each other if they could.
const LISTENER: &str = "
import { appendFileSync } from 'node:fs';
export default (pi: any) => {
    pi.events.on('count', (heard: unknown) => {
        for (let i = 0; i < 1000; i++) Math.sqrt(i);
        appendFileSync('heard', `${heard}\\n`);
        if (heard === 3) throw new Error('bad number');
        if (heard === 'the end') pi.events.emit('answer', 'heard it');
    });
    pi.on('session_shutdown', () => appendFileSync('heard', 'shutdown\\n'));
};";

const LAST: &str = "
import { appendFileSync } from 'node:fs';
export default (pi: any) => { pi.events.on('answer', (words: string) => appendFileSync('heard', `${words}\\n`)); };";

#[test]
fn words_are_heard_in_order_and_before_the_session_ends() {
    let room = room();
    room.write("speaker.ts", SPEAKER);
    room.write("listener.ts", LISTENER);
    room.write("last.ts", LAST);
    let model = room.model(&json!([{"text": "fine"}]));
    let files = ["-e", "speaker.ts", "-e", "listener.ts", "-e", "last.ts"];
    let words = ["--model", &model].into_iter().chain(files).chain(["go"]);
    let run = room.run(words).ended_with(0).complained("bad number");
    let mut expected: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    expected.extend(["the end", "heard it", "shutdown"].map(str::to_owned));
    assert_eq!(
        room.read("heard").lines().collect::<Vec<_>>(),
        expected,
        "{run:#?}"
    );
}
