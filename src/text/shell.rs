//! A shell command line -> words, redirects and here-documents.
//!
//! This is not a full shell: expansions stay as written. It tells apart what decides whether a line writes, and what
//! the line is about.

/// A piece of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A word; quotes around the whole of it are removed.
    Word(&'a str),
    /// Output is redirected to this file; empty if streams are only joined.
    Write(&'a str),
    /// The text of a here-document of the preceding command.
    Here(&'a str),
    /// The end of a simple command.
    End,
}

/// Enough of the shell's grammar to tell words, quotes, redirects and here-documents apart.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// The delimiter of a here-document whose text begins on the next line.
    here: Option<&'a str>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, here: None }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The target of a redirect whose `>` has been read.
    fn write(&mut self) -> Token<'a> {
        while matches!(self.byte(self.at), b'>' | b'|') {
            self.at += 1;
        }
        // `>&2` and `>&-` join or close streams.
        if self.byte(self.at) == b'&' {
            self.at += 1;
            let file = self.file();
            let joins = file.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            return Token::Write(if joins { "" } else { file });
        }
        Token::Write(self.file())
    }

    /// The word after a redirect.
    fn file(&mut self) -> &'a str {
        while matches!(self.byte(self.at), b' ' | b'\t') {
            self.at += 1;
        }
        self.word()
    }

    fn word(&mut self) -> &'a str {
        let start = self.at;
        let mut quote = 0;
        while self.at < self.text.len() {
            let byte = self.byte(self.at);
            match byte {
                b'\\' if quote != b'\'' => self.at += 1,
                b'\'' | b'"' if quote == 0 => quote = byte,
                _ if quote != 0 && byte == quote => quote = 0,
                _ if quote != 0 => {}
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b'&' | b'(' | b')' | b'<' | b'>' | b'`' => break,
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.at.min(self.text.len());
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        let word = self.text.get(start..self.at).unwrap_or_default();
        let unquoted = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
        unquoted('\'').or_else(|| unquoted('"')).unwrap_or(word)
    }

    /// The text of the here-document that begins here, if one was announced.
    fn here_document(&mut self) -> Option<&'a str> {
        let delimiter = self.here.take()?;
        let delimiter = delimiter.trim_start_matches('\\');
        let rest = self.rest();
        let mut length = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim() == delimiter {
                self.at += length + line.len();
                // The newline after the delimiter stays unread and ends the command: its own was consumed before the
                // text.
                self.at -= usize::from(line.ends_with('\n'));
                return rest.get(..length);
            }
            length += line.len();
        }
        self.at = self.text.len();
        Some(rest)
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            if self.at >= self.text.len() {
                return None;
            }
            let (byte, next) = (self.byte(self.at), self.byte(self.at + 1));
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if next == b'\n' => self.at += 2,
                b'#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                b'\n' => {
                    self.at += 1;
                    return Some(self.here_document().map_or(Token::End, Token::Here));
                }
                b'&' if next == b'>' => {
                    self.at += 2;
                    return Some(self.write());
                }
                b';' | b'|' | b'&' | b'(' | b')' | b'`' => {
                    self.at += 1;
                    return Some(Token::End);
                }
                b'<' if self.rest().starts_with("<<<") => self.at += 3,
                b'<' if next == b'<' => {
                    self.at += 2 + usize::from(self.byte(self.at + 2) == b'-');
                    self.here = Some(self.file());
                }
                b'<' if next == b'(' => self.at += 1,
                b'<' => {
                    self.at += 1;
                    self.file();
                }
                b'>' if next == b'(' => self.at += 1,
                b'>' => {
                    self.at += 1;
                    return Some(self.write());
                }
                b'0'..=b'9' if matches!(next, b'>' | b'<') => {
                    self.at += 1;
                    if next == b'>' {
                        self.at += 1;
                        let written = self.write();
                        // Error messages are not a result of the program's work.
                        if byte != b'2' {
                            return Some(written);
                        }
                    }
                }
                _ => return Some(Token::Word(self.word())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn lines_come_apart() {
        use Token::{End, Here, Word, Write};
        for (line, expected) in [
            ("", &[][..]),
            ("ls -l 'a b' \"c\"d", &[Word("ls"), Word("-l"), Word("a b"), Word("\"c\"d")]),
            ("a;b&&c|d", &[Word("a"), End, Word("b"), End, End, Word("c"), End, Word("d")]),
            ("a >b 2>c 2>&1 >&2 &>d", &[Word("a"), Write("b"), Write(""), Write("d")]),
            ("a > 'b c' < in", &[Word("a"), Write("b c")]),
            ("a # b > c\nd", &[Word("a"), End, Word("d")]),
            ("a#b", &[Word("a#b")]),
            ("cat <<-'E' >f\nx > y\n\tE\nb", &[Word("cat"), Write("f"), Here("x > y\n"), End, Word("b")]),
            ("cat <<E\nno end", &[Word("cat"), Here("no end")]),
            ("x=$(rm a)", &[Word("x=$"), End, Word("rm"), Word("a"), End]),
            ("a \\\n b\\ c", &[Word("a"), Word("b\\ c")]),
            ("'open", &[Word("'open")]),
            ("é\\é日", &[Word("é\\é日")]),
        ] {
            assert_eq!(Lexer::new(line).collect::<Vec<_>>(), expected, "{line}");
        }
    }
}
