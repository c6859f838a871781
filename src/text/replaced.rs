//! The text that an edit takes out of a file, and the text that it puts there instead.

use super::words::listed_name;
use crate::text::{mark, salted};
use alloc::string::String;
use serde_json::Value;

/// Names of arguments for the one and the other.
const OLD: [&str; 9] =
    ["before", "find", "oldcode", "oldcontent", "oldstr", "oldstring", "oldtext", "original", "search"];
const NEW: [&str; 10] = [
    "after",
    "newcode",
    "newcontent",
    "newstr",
    "newstring",
    "newtext",
    "replace",
    "replacement",
    "replacewith",
    "updated",
];
/// Lists of edits, of which the first is taken.
const EDITS: [&str; 3] = ["changes", "edits", "replacements"];
/// Marks around the two in a block of text.
const SEARCH: &str = " SEARCH\n";
const MIDDLE: &str = "\n=======\n";
const REPLACE: &str = "\n>>>>>>> REPLACE";
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
    let named = |names: &[&str]| fields.iter().find(|(name, _)| listed_name(names, name)).map(|(_, value)| value);
    if let (Some(Value::String(old)), Some(Value::String(new))) = (named(&OLD), named(&NEW)) {
        return marks(old, new, salt);
    }
    if let Some(Value::Array(edits)) = named(&EDITS) {
        return replaced(edits.first()?, salt);
    }
    fields.values().filter_map(Value::as_str).find_map(|text| block(text, salt).or_else(|| patch(text, salt)))
}

/// A block of the form `<<<<<<< SEARCH … ======= … >>>>>>> REPLACE`.
fn block(text: &str, salt: u64) -> Option<Replaced> {
    let (_, block) = text.split_once(SEARCH)?;
    let (old, rest) = block.split_once(MIDDLE)?;
    let new = rest.split_once(REPLACE).or_else(|| rest.split_once("\n+++++++ REPLACE"))?.0;
    marks(old, new, salt)
}

/// The lines that a patch takes out and puts in.
fn patch(text: &str, salt: u64) -> Option<Replaced> {
    if !text.contains("\n@@") && !text.starts_with("*** Begin Patch") {
        return None;
    }
    let lines = |sign: char, head: &str| -> String {
        text.lines().filter(|line| !line.starts_with(head)).filter_map(|line| line.strip_prefix(sign)).collect()
    };
    marks(&lines('-', "---"), &lines('+', "+++"), salt)
}

fn marks(old: &str, new: &str, salt: u64) -> Option<Replaced> {
    let [old, new] = [old, new].map(|text| text.split_whitespace().collect::<String>());
    let mark = |text: &str| mark(salted("replaced", salt, text.as_bytes())).max(1);
    let tells = old.len() >= FEWEST && new.len() >= FEWEST;
    tells.then(|| Replaced { old: mark(&old), new: mark(&new), removes: old.contains(&new) })
}

#[cfg(test)]
mod tests {
    use super::super::words::assert_sorted;
    use super::{EDITS, NEW, OLD, replaced};
    use serde_json::json;

    #[test]
    fn what_an_edit_replaces() {
        [&OLD[..], &NEW, &EDITS].into_iter().for_each(assert_sorted);
        let said = |args| replaced(&args, 7);
        let plain = said(json!({"path": "a.rs", "old_string": "let a = 1;", "new_string": "let  a = 2;"})).unwrap();
        let search = "<<<<<<< SEARCH\nlet a = 1;\n=======\nlet a = 2;\n>>>>>>> REPLACE\n";
        let lines = "*** Begin Patch\n*** Update File: a.rs\n@@\n fn a() {\n-    let a = 1;\n+    let a = 2;\n }\n*** End Patch";
        for args in [
            json!({"path": "a.rs", "edits": [{"oldText": "let a = 1;", "newText": "let a = 2;"}]}),
            json!({"path": "a.rs", "diff": search}),
            json!({"input": lines}),
            json!({"file": "a.rs", "search": "let a=1;", "replace": "let a=2;"}),
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
