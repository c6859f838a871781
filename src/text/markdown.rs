//! Untrusted text in Markdown: shown, never interpreted.
//!
//! A report is opened in an issue, a chat or a pull request. A tool's name or output may contain links, tracking
//! images, mentions, or markup that closes the enclosing element.

use alloc::string::String;

/// A text as inline code, whatever back-ticks it contains. Line ends become blanks, so that the code cannot end early.
pub(crate) fn code(text: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for char in text.chars() {
        run = if char == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() { " " } else { "" };
    let mut out = String::with_capacity(text.len() + 2 * fence.len() + 2);
    out.push_str(&fence);
    out.push_str(pad);
    out.extend(text.chars().map(|char| if is_line_end(char) { ' ' } else { char }));
    out.push_str(pad);
    out.push_str(&fence);
    out
}

/// A text for running Markdown: it reads as it is, and nothing in it becomes a heading, a list, a link, an image, a
/// mention, HTML or emphasis.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut before: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let after = chars.peek().copied();
        let in_word = |near: Option<char>| near.is_some_and(char::is_alphanumeric);
        let acts = match char {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '~' | '$' => true,
            // Within a word it is literal.
            '_' => !(in_word(before) && in_word(after)),
            // An image, an entity, an address, a mention, an issue.
            '!' => after == Some('['),
            '&' => in_word(after) || after == Some('#'),
            ':' => after == Some('/'),
            '@' => in_word(after),
            '#' => in_word(after) || before.is_none_or(char::is_whitespace),
            // Addresses without a scheme.
            '.' => in_word(after) && ends_with_www(&out),
            // Lists, quotes and rules, at the beginning of the text.
            '-' | '+' | '=' => before.is_none(),
            _ => false,
        };
        // `1.` and `1)` begin a list as well.
        let numbers = matches!(char, '.' | ')') && !out.is_empty() && out.bytes().all(|byte| byte.is_ascii_digit());
        if acts || numbers {
            out.push('\\');
        }
        out.push(if is_line_end(char) { ' ' } else { char });
        before = Some(char);
    }
    out
}

fn ends_with_www(text: &str) -> bool {
    text.get(text.len().saturating_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("www"))
}

const fn is_line_end(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::{code, plain};

    #[test]
    fn what_is_quoted_stays_code() {
        for (text, expected) in [
            ("plain", "`plain`"),
            ("a `b` c", "``a `b` c``"),
            ("``", "``` `` ```"),
            ("`a", "`` `a ``"),
            ("", "`  `"),
            ("a\n\n# b", "`a  # b`"),
            ("![x](http://y)", "`![x](http://y)`"),
        ] {
            assert_eq!(code(text), expected, "{text:?}");
        }
    }

    #[test]
    fn nothing_is_live() {
        for (text, expected) in [
            ("Same output signature repeated 3 times", "Same output signature repeated 3 times"),
            (
                "Phase 'test' exceeded max_visits (5) with 5 visits",
                "Phase 'test' exceeded max_visits (5) with 5 visits",
            ),
            ("Transition fix→test exceeded", "Transition fix→test exceeded"),
            ("Iteration 7: Fixed auth.ts - added null check", "Iteration 7: Fixed auth.ts - added null check"),
            ("![x](http://evil/p.png)", "\\!\\[x\\](http\\://evil/p.png)"),
            ("<img src=x>", "\\<img src=x\\>"),
            ("*bold* _it_ __x__ snake_case", "\\*bold\\* \\_it\\_ \\_\\_x\\_\\_ snake_case"),
            ("ask @maintainer about #12", "ask \\@maintainer about \\#12"),
            ("www.evil.example", "www\\.evil.example"),
            ("mailto me@x.example", "mailto me\\@x.example"),
            ("&lt;script&gt;", "\\&lt;script\\&gt;"),
            ("# heading", "\\# heading"),
            ("- item", "\\- item"),
            ("1. item", "1\\. item"),
            ("12) item", "12\\) item"),
            ("a\n# b", "a \\# b"),
            ("a | b $x$ ~~c~~ \\", "a \\| b \\$x\\$ \\~\\~c\\~\\~ \\\\"),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }
}
