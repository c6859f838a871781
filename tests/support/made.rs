//! Pseudo-random events, the same for a seed everywhere: several runs, tasks and agents at once, honest work and loops.

/// Generates events from a seed.
pub(crate) struct Maker {
    dice: u64,
    /// Number of concurrent runs, and their name if it is given.
    runs: u64,
    name: Option<String>,
    number: u64,
    /// What is pending in each run.
    open: Vec<Option<Open>>,
}

/// A call that waits for its result or will be repeated.
struct Open {
    tool: String,
    args: String,
    /// How often it is still to be repeated.
    again: u64,
    waits: bool,
}

const TOOLS: [&str; 6] = ["read_file", "bash", "edit_file", "web_search", "fetch", "run_tests"];
const WORDS: [&str; 12] =
    ["cart", "price", "order", "parser", "login", "index", "schema", "cache", "worker", "queue", "token", "漢字"];

impl Maker {
    /// With many runs.
    pub(crate) fn new(seed: u64) -> Self {
        Self::with(seed, 64, None)
    }

    /// With one run.
    pub(crate) fn one_run(seed: u64) -> Self {
        Self::with(seed, 1, Some("one".to_owned()))
    }

    /// With one run of that name.
    pub(crate) fn of_run(name: &str, seed: u64) -> Self {
        Self::with(seed, 1, Some(name.to_owned()))
    }

    fn with(seed: u64, runs: u64, name: Option<String>) -> Self {
        let open = (0..runs).map(|_| None).collect();
        Self { dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, runs, name, number: 0, open }
    }

    /// A number below `most`, by xorshift.
    fn draw(&mut self, most: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 11) % most.max(1)
    }

    fn word(&mut self) -> &'static str {
        let at = self.draw(WORDS.len() as u64) as usize;
        WORDS.get(at).copied().unwrap_or_default()
    }

    fn words(&mut self, count: u64) -> String {
        (0..count).map(|_| format!("{} {} ", self.word(), self.draw(1000))).collect()
    }

    /// The next event, as JSON text.
    pub(crate) fn next_event(&mut self) -> String {
        self.number += 1;
        let place = self.draw(self.runs);
        let run = self.name.clone().unwrap_or_else(|| format!("run-{place}"));
        let at = 1_790_000_000_000_u64 + self.number * 700;
        let mut fields = format!(r#","run":"{run}","at":{at}"#);
        if place % 3 == 1 {
            fields += &format!(r#","task":"task-{}","agent":"agent-{}""#, self.draw(3), self.draw(2));
        }
        match self.open.get_mut(place as usize).and_then(Option::take) {
            Some(open) if open.waits => return self.result(place, open, &fields),
            Some(open) => return self.call(place, open, &fields),
            None => {}
        }
        match self.draw(12) {
            0 => format!(r#"{{"type":"message","role":"assistant","text":"{}"{fields}}}"#, self.words(20)),
            1 => format!(r#"{{"type":"delta","text":"{}"{fields}}}"#, self.words(3)),
            2 => match self.draw(6) {
                0 => format!(r#"{{"type":"output","text":"{}"{fields}}}"#, self.words(12)),
                1 => format!(r#"{{"type":"failure","message":"{} failed"{fields}}}"#, self.words(2)),
                2 => {
                    let (failing, diff) = (self.draw(9), self.words(6));
                    format!(
                        r#"{{"type":"progress","diff":"{diff}","tests":{{"failing":{failing},"total":9}}{fields}}}"#
                    )
                }
                3 => format!(r#"{{"type":"message","role":"user","text":"{}"{fields}}}"#, self.words(4)),
                4 => format!(
                    r#"{{"type":"attempt","status":"blocked","blockers":["{}"],"task":"t","run":"{run}"}}"#,
                    self.word()
                ),
                _ => {
                    format!(r#"{{"type":"turn","node":"{}","finalMessage":"{}"{fields}}}"#, self.word(), self.words(5))
                }
            },
            _ => {
                let tool = TOOLS.get(self.draw(TOOLS.len() as u64) as usize).copied().unwrap_or("read_file").to_owned();
                let args = match tool.as_str() {
                    "bash" => format!(r#"{{"command":"grep -rn {} src/{}.rs"}}"#, self.word(), self.word()),
                    "web_search" => format!(r#"{{"query":"{}"}}"#, self.words(3).trim_end()),
                    "fetch" => format!(r#"{{"url":"https://example.com/{}?page={}"}}"#, self.word(), self.draw(40)),
                    _ => format!(r#"{{"path":"src/{}/{}.rs","line":{}}}"#, self.word(), self.word(), self.draw(900)),
                };
                let again = if self.draw(20) == 0 { self.draw(12) } else { 0 };
                self.call(place, Open { tool, args, again, waits: true }, &fields)
            }
        }
    }

    fn call(&mut self, place: u64, open: Open, fields: &str) -> String {
        let (id, Open { tool, args, .. }) = (self.number, &open);
        let text = format!(r#"{{"type":"tool-call","tool":"{tool}","args":{args},"callId":"call_{id}"{fields}}}"#);
        self.put(place, Open { waits: true, ..open });
        text
    }

    fn result(&mut self, place: u64, open: Open, fields: &str) -> String {
        let (tool, again) = (&open.tool, open.again);
        let outcome = if again > 0 || self.draw(8) == 0 { "error" } else { "ok" };
        let output =
            if again > 0 { format!("no such thing as {}", open.args).replace('"', "'") } else { self.words(30) };
        let text =
            format!(r#"{{"type":"tool-result","tool":"{tool}","outcome":"{outcome}","output":"{output}"{fields}}}"#);
        // A loop: repeat the call.
        if again > 1 {
            self.put(place, Open { again: again - 1, waits: false, ..open });
        }
        text
    }

    fn put(&mut self, place: u64, open: Open) {
        if let Some(slot) = self.open.get_mut(place as usize) {
            *slot = Some(open);
        }
    }
}
