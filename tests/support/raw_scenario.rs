//! Splits scenario files into events without parsing the events.
//!
//! Every door must be given the same bytes: a JSON library would merge duplicate keys, reorder fields, repair
//! surrogates and round big integers before the door under test saw them. So only the envelope of a line is parsed
//! here, and each event is cut out as text. Uses only `std`, so that both the crate's tests and the build script can
//! include this file.

/// One event of a scenario, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawEvent {
    /// The event as in the file, without its `pending` field: the input of `record` and `check`.
    pub(crate) text: String,
    /// Whether the event is to be checked instead of recorded.
    pub(crate) pending: bool,
}

/// One line of a scenario file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(dead_code, reason = "each program that includes this file reads the fields it needs")]
pub(crate) struct RawScenario {
    /// Line in the file, counted from 1.
    pub(crate) line: usize,
    /// The whole line.
    pub(crate) text: String,
    /// Name of the scenario.
    pub(crate) id: String,
    /// The configuration document, as text; `None` for the default.
    pub(crate) config: Option<String>,
    /// The events, in order.
    pub(crate) events: Vec<RawEvent>,
    /// Whether a loop is expected; `None` if unlabelled.
    pub(crate) expect_loop: Option<bool>,
    /// Index of the event by which the loop must be found.
    pub(crate) expect_at: Option<usize>,
    /// The loop must not be found before `expect_at`.
    pub(crate) first_at: bool,
    /// The lowest level that counts as found; `None` for `nudge`.
    pub(crate) min_level: Option<String>,
    /// Indices of the events that must be rejected.
    pub(crate) refused: Vec<usize>,
    /// Why the expectation is known to fail; `None` if it holds.
    pub(crate) known_miss: Option<String>,
}

/// Reads a scenario file: one JSON object per line, blank lines ignored.
///
/// # Errors
/// The number of the first line that is not a scenario, and what is wrong with it.
#[allow(dead_code, reason = "each program that includes this file reads whole files or lines")]
pub(crate) fn raw_scenarios(file: &str) -> Result<Vec<RawScenario>, String> {
    let lines = file.lines().enumerate().filter(|(_, text)| !text.trim().is_empty());
    lines.map(|(index, text)| scenario(index + 1, text).map_err(|why| format!("line {}: {why}", index + 1))).collect()
}

/// Reads one line of a scenario file.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn scenario(line: usize, text: &str) -> Result<RawScenario, String> {
    let mut scenario = RawScenario { line, text: text.to_owned(), ..RawScenario::default() };
    let mut seen: Vec<&str> = Vec::new();
    for member in members(text.trim())? {
        if seen.contains(&member.key) {
            return Err(format!("{} twice", member.key));
        }
        seen.push(member.key);
        let value = member.value;
        match member.key {
            "\"id\"" => scenario.id = plain_string(value)?.to_owned(),
            "\"config\"" if value != "null" => scenario.config = Some(value.to_owned()),
            "\"events\"" => scenario.events = elements(value)?.into_iter().map(event).collect::<Result<_, _>>()?,
            "\"expect\"" => {
                scenario.expect_loop = Some(match value {
                    "\"loop\"" => true,
                    "\"no-loop\"" => false,
                    other => return Err(format!("expect: expected \"loop\" or \"no-loop\", got {other}")),
                });
            }
            "\"expectAt\"" => scenario.expect_at = Some(index(value)?),
            "\"firstAt\"" => scenario.first_at = value == "true",
            "\"minLevel\"" => scenario.min_level = Some(plain_string(value)?.to_owned()),
            "\"knownMiss\"" => scenario.known_miss = Some(plain_string(value)?.to_owned()),
            "\"refused\"" => scenario.refused = elements(value)?.into_iter().map(index).collect::<Result<_, _>>()?,
            _ => {}
        }
    }
    for key in ["\"id\"", "\"events\""] {
        if !seen.contains(&key) {
            return Err(format!("no {key}"));
        }
    }
    Ok(scenario)
}

fn event(text: &str) -> Result<RawEvent, String> {
    if !text.starts_with('{') {
        return Ok(RawEvent { text: text.to_owned(), pending: false });
    }
    let mut all = members(text)?;
    let marks: Vec<&str> = all.extract_if(.., |member| member.key == "\"pending\"").map(|mark| mark.value).collect();
    let text = if marks.is_empty() {
        text.to_owned()
    } else {
        let kept: Vec<&str> = all.iter().map(|member| member.text).collect();
        format!("{{{}}}", kept.join(","))
    };
    Ok(RawEvent { text, pending: marks.last() == Some(&"true") })
}

fn index(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("expected an index, got {text}"))
}

/// The content of a JSON string without escapes.
fn plain_string(text: &str) -> Result<&str, String> {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.contains('\\')).ok_or_else(|| format!("expected a plain string, got {text}"))
}

/// One `"key": value` member of an object.
struct Member<'a> {
    /// The key, including quotes.
    key: &'a str,
    /// The value.
    value: &'a str,
    /// Key, colon and value.
    text: &'a str,
}

fn members(text: &str) -> Result<Vec<Member<'_>>, String> {
    let mut cursor = Cursor { text, at: 0 };
    let mut members = Vec::new();
    cursor.list(b'{', b'}', |cursor| {
        let start = cursor.at;
        let key = cursor.string()?;
        cursor.space();
        cursor.expect(b':')?;
        cursor.space();
        let value = cursor.value()?;
        members.push(Member { key, value, text: cursor.since(start) });
        Ok(())
    })?;
    Ok(members)
}

fn elements(text: &str) -> Result<Vec<&str>, String> {
    let mut cursor = Cursor { text, at: 0 };
    let mut elements = Vec::new();
    cursor.list(b'[', b']', |cursor| {
        elements.push(cursor.value()?);
        Ok(())
    })?;
    Ok(elements)
}

/// A position in JSON text. All relevant tokens are ASCII, so it is always at a character boundary.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn expect(&mut self, wanted: u8) -> Result<(), String> {
        if self.peek() == Some(wanted) {
            self.at += 1;
            return Ok(());
        }
        Err(format!("expected `{}` at byte {}", char::from(wanted), self.at))
    }

    /// The rest of the text as a bracketed list with comma-separated items.
    fn list(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        self.expect(open)?;
        self.space();
        if self.peek() != Some(close) {
            loop {
                self.space();
                item(self)?;
                self.space();
                if self.peek() != Some(b',') {
                    break;
                }
                self.at += 1;
            }
        }
        self.expect(close)?;
        if self.at == self.text.len() { Ok(()) } else { Err(format!("something follows byte {}", self.at)) }
    }

    /// A string, including quotes.
    fn string(&mut self) -> Result<&'a str, String> {
        let start = self.at;
        self.expect(b'"')?;
        loop {
            match self.peek() {
                None => return Err(format!("the string at byte {start} does not end")),
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        Ok(self.since(start))
    }

    /// Any value.
    fn value(&mut self) -> Result<&'a str, String> {
        let start = self.at;
        let mut open: Vec<u8> = Vec::new();
        loop {
            match self.peek() {
                None => return Err(format!("the value at byte {start} does not end")),
                Some(b'"') => {
                    self.string()?;
                }
                Some(byte @ (b'{' | b'[')) => {
                    open.push(if byte == b'{' { b'}' } else { b']' });
                    self.at += 1;
                }
                Some(byte @ (b'}' | b']')) => {
                    if open.pop() != Some(byte) {
                        return Err(format!("unexpected `{}` at byte {}", char::from(byte), self.at));
                    }
                    self.at += 1;
                }
                Some(byte) if open.is_empty() => {
                    if !byte.is_ascii_alphanumeric() && !b"+-.".contains(&byte) {
                        return Err(format!("expected a value at byte {}", self.at));
                    }
                    while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
                        self.at += 1;
                    }
                }
                Some(_) => {
                    self.at += 1;
                    continue;
                }
            }
            if open.is_empty() {
                return Ok(self.since(start));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RawEvent, raw_scenarios};

    fn events(line: &str) -> Vec<RawEvent> {
        raw_scenarios(line).unwrap().remove(0).events
    }

    #[test]
    fn an_event_keeps_every_byte() {
        let odd = r#"{"type":"output", "text":"a\"b]}\\", "a":1,"a":1.0,"b":[{"c":9007199254740993},"\ud83d"]}"#;
        let line = format!(r#"{{"id":"odd","events":[ {odd} ,{odd}]}}"#);
        let expected = RawEvent { text: odd.to_owned(), pending: false };
        assert_eq!(events(&line), [expected.clone(), expected]);
    }

    #[test]
    fn pending_is_taken_out_and_the_rest_stays() {
        let line = r#"{"id":"p","events":[{"type":"output","pending":true,"text":"\u0000 ,"},{"pending":false}]}"#;
        let expected = [
            RawEvent { text: r#"{"type":"output","text":"\u0000 ,"}"#.to_owned(), pending: true },
            RawEvent { text: "{}".to_owned(), pending: false },
        ];
        assert_eq!(events(line), expected);
    }

    #[test]
    fn only_a_field_of_the_event_itself_makes_it_pending() {
        let line = r#"{"id":"p","events":[{"args":{"pending":true}}, 42, "pending"]}"#;
        assert!(events(line).iter().all(|event| !event.pending));
        assert_eq!(events(line).len(), 3);
    }

    #[test]
    fn labels_are_read_and_the_others_are_ignored() {
        let file = concat!(
            r#"{"id":"a","why":"x","config":{"rules":{}},"events":[],"expect":"loop","expectAt":4,"firstAt":true,"#,
            r#""minLevel":"block","refused":[1, 2],"knownMiss":"too slow"}"#,
            "\n\n",
            r#"{"id":"b","config":null,"events":[],"expect":"no-loop"}"#,
        );
        let all = raw_scenarios(file).unwrap();
        let [a, b] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((a.line, a.id.as_str(), a.config.as_deref()), (1, "a", Some(r#"{"rules":{}}"#)));
        assert_eq!((a.expect_loop, a.expect_at, a.first_at), (Some(true), Some(4), true));
        assert_eq!((a.min_level.as_deref(), a.refused.as_slice()), (Some("block"), [1, 2].as_slice()));
        assert_eq!((a.known_miss.as_deref(), b.known_miss.as_deref()), (Some("too slow"), None));
        assert_eq!((b.line, b.config.as_deref(), b.expect_loop), (3, None, Some(false)));
    }

    #[test]
    fn what_is_no_scenario_is_refused_with_its_line() {
        for (line, why) in [
            (r#"{"id":"a"}"#, r#"no "events""#),
            (r#"{"events":[]}"#, r#"no "id""#),
            (r#"{"id":"a","id":"b","events":[]}"#, r#""id" twice"#),
            (r#"{"id":"a","events":[{]}"#, "unexpected `]`"),
            (r#"{"id":"a","events":["x]}"#, "does not end"),
            (r#"{"id":"a","events":[1,]}"#, "unexpected `]`"),
            (r#"{"id":"a","events":[]} x"#, "something follows"),
            (r#"{"id":"a\n","events":[]}"#, "plain string"),
            (r#"{"id":"a","events":[],"expect":"maybe"}"#, "expect: expected"),
            (r#"{"id":"a","events":[],"expectAt":-1}"#, "expected an index"),
        ] {
            let error = raw_scenarios(&format!("\n{line}\n")).unwrap_err();
            assert!(error.starts_with("line 2: ") && error.contains(why), "{line}: {error}");
        }
    }
}
