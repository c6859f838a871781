//! [`str::trim`] and [`str::lines`] in a third of the instructions: few lines are longer than two blocks, and few begin
//! or end with anything but a letter or a mark.

use super::scan::{line_end, line_start};

/// [`str::trim`], fast for the usual case: nothing to trim but one trailing newline or blank. Not inlined on Wasm,
/// where code size matters.
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline)]
pub(crate) fn trimmed(text: &str) -> &str {
    let plain = |first: &u8, last: &u8| first.is_ascii_graphic() && last.is_ascii_graphic();
    match text.as_bytes() {
        [first, .., last] if plain(first, last) => text,
        [first, .., last, b' ' | b'\n'] if plain(first, last) => text.get(..text.len() - 1).unwrap_or(text),
        _ => text.trim(),
    }
}

/// The first line of a text, and the rest behind its line feed, if there is one.
#[inline]
pub(crate) fn first_line(text: &str) -> (&str, Option<&str>) {
    let end = line_end(text.as_bytes());
    text.split_at_checked(end).map_or((text, None), |(line, rest)| (line, rest.get(1..)))
}

/// [`str::lines`], except that a carriage return before the line feed is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines<'a>(pub(crate) &'a str);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() {
            return None;
        }
        let (line, rest) = first_line(self.0);
        self.0 = rest.unwrap_or_default();
        Some(line)
    }
}

impl DoubleEndedIterator for Lines<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let body = self.0.strip_suffix('\n').unwrap_or(self.0);
        let (rest, line) = body.split_at_checked(line_start(body.as_bytes()))?;
        self.0 = rest;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, trimmed};
    use alloc::vec::Vec;

    proptest::proptest! {
        #[test]
        fn as_the_library_tells(text in "[ a-cé\u{a0}\r\n]{0,200}|([a-z]{0,150}\n){0,4}[a-z]{0,150}") {
            let text: alloc::string::String = text;
            let without = |line: &'_ str| alloc::string::String::from(line.trim_end_matches('\r'));
            let lines: Vec<_> = text.lines().map(without).collect();
            proptest::prop_assert_eq!(Lines(&text).map(without).collect::<Vec<_>>(), &lines[..]);
            let mut back: Vec<_> = Lines(&text).rev().map(without).collect();
            back.reverse();
            proptest::prop_assert_eq!(back, lines);
            proptest::prop_assert_eq!(trimmed(&text), text.trim());
        }
    }
}
