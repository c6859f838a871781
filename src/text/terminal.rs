//! Escape sequences that programs send to a terminal: colours, titles, links.

/// The end of the sequence whose escape character is at `at`; if it is truncated or unknown, the end of what may belong
/// to it.
pub(super) fn sequence_end(bytes: &[u8], at: usize) -> usize {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut end = at + 1;
    match byte(end) {
        b'[' => {
            end += 1;
            while matches!(byte(end), 0x20..=0x3f) {
                end += 1;
            }
            end += usize::from(matches!(byte(end), 0x40..=0x7e));
        }
        // A title or a link: up to its terminator or, if that is missing, to the end of the line.
        b']' | b'P' | b'^' | b'_' => {
            while !matches!(byte(end), 0 | 0x07 | 0x1b | b'\n') {
                end += 1;
            }
            end += usize::from(byte(end) == 0x07);
            end += 2 * usize::from(byte(end) == 0x1b && byte(end + 1) == b'\\');
        }
        b'(' | b')' | b'#' => end += 1 + usize::from(matches!(byte(end + 1), 0x30..=0x7e)),
        0x30..=0x7e => end += 1,
        _ => {}
    }
    end.min(bytes.len())
}
