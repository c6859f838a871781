//! The text that an edit takes out of a file, and the text that it puts there instead.

use super::words::is_name_in;
use crate::text::{mark, salted};
use alloc::string::String;
use serde_json::Value;

/// Names of arguments for the one and the other.
const OLD: &str = "before find oldcode oldcontent oldstr oldstring oldtext original search";
const NEW: &str = "after newcode newcontent newstr newstring newtext replace replacement updated with";
/// A list of edits, of which the first is taken.
const EDITS: &str = "edits";
/// Names of arguments that say which of several occurrences is meant.
const PLACES: &str = "line occurrence";
/// Fewest characters that are not blank: shorter texts recur by chance.
const FEWEST: usize = 6;

/// Marks of both, without their blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) old: u32,
    pub(crate) new: u32,
    /// The new text is a part of the old one: something is taken out.
    pub(crate) removes: bool,
}

/// What the arguments of an edit replace; `None` if they do not say.
pub(crate) fn replaced(args: &Value, salt: u64) -> Option<Replaced> {
    let fields = args.as_object()?;
    // The same text at several places is no text that comes back.
    if fields.keys().any(|name| is_name_in(PLACES, name)) {
        return None;
    }
    let named = |names: &str| fields.iter().find(|(name, _)| is_name_in(names, name)).map(|(_, value)| value);
    if let (Some(Value::String(old)), Some(Value::String(new))) = (named(OLD), named(NEW)) {
        return marks(old, new, salt);
    }
    if let Some(Value::Array(edits)) = named(EDITS) {
        return replaced(edits.first()?, salt);
    }
    fields.values().filter_map(Value::as_str).find_map(|text| lines(text, salt))
}

/// What the lines of a text say is taken out and put in: a block of the form `<<<<<<< SEARCH … ======= … >>>>>>> REPLACE`,
/// or a patch.
fn lines(text: &str, salt: u64) -> Option<Replaced> {
    let (mut old, mut new) = (String::new(), String::new());
    // Before a block, in its first part, in its second.
    let (mut part, mut patch) = (0, false);
    for line in text.lines() {
        patch |= line.starts_with("@@");
        let (sign, rest) = line.split_at_checked(1).unwrap_or_default();
        match (part, line) {
            (0, _) if line.ends_with(" SEARCH") => part = 1,
            (1, "=======") => part = 2,
            (2, _) if line.ends_with(" REPLACE") => break,
            (1, _) => old.push_str(line),
            (2, _) => new.push_str(line),
            _ if patch && sign == "-" => old.push_str(rest),
            _ if patch && sign == "+" => new.push_str(rest),
            _ => {}
        }
    }
    marks(&old, &new, salt)
}

fn marks(old: &str, new: &str, salt: u64) -> Option<Replaced> {
    let [old, new] = [old, new].map(|text| {
        let mut bare = String::from(text);
        bare.retain(|char| !char.is_ascii_whitespace());
        bare
    });
    let mark = |text: &str| mark(salted("replaced", salt, text.as_bytes())).max(1);
    let tells = old.len() >= FEWEST && new.len() >= FEWEST;
    tells.then(|| Replaced { old: mark(&old), new: mark(&new), removes: old.contains(&new) })
}

#[cfg(test)]
mod tests {
    use super::replaced;
    use serde_json::json;

    #[test]
    fn what_an_edit_replaces() {
        let said = |args| replaced(&args, 7);
        let plain = said(json!({"path": "a.rs", "old_string": "let a = 1;", "new_string": "let  a = 2;"})).unwrap();
        let search = "<<<<<<< SEARCH\nlet a = 1;\n=======\nlet a = 2;\n>>>>>>> REPLACE\n";
        let lines = "*** Begin Patch\n*** Update File: a.rs\n@@\n fn a() {\n-    let a = 1;\n+    let a = 2;\n }\n*** End Patch";
        for args in [
            json!({"path": "a.rs", "edits": [{"oldText": "let a = 1;", "newText": "let a = 2;"}]}),
            json!({"path": "a.rs", "diff": search}),
            json!({"input": lines}),
            json!({"file": "a.rs", "search": "let a=1;", "replace": "let a=2;"}),
            json!({"file": "a.rs", "find": "let a = 1;", "with": "let a = 2;"}),
            json!({"file": "a.rs", "original": "let a = 1;", "updated": "let a = 2;"}),
        ] {
            assert_eq!(said(args.clone()), Some(plain), "{args}");
        }
        let back = said(json!({"old_str": "let a = 2;", "new_str": "let a = 1;"})).unwrap();
        assert_eq!((back.old, back.new, back.removes), (plain.new, plain.old, false));
        assert!(said(json!({"old_str": "probe()\nlet a = 2;", "new_str": "let a = 2;"})).unwrap().removes);
        for args in [
            json!({"path": "a.rs", "content": "let a = 1;"}),
            json!({"old_string": "}", "new_string": "};"}),
            json!({"old_string": "let a = 1;", "new_string": ""}),
            json!("let a"),
        ] {
            assert_eq!(said(args.clone()), None, "{args}");
        }
    }
}
