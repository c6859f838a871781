//! Removes the source locations of panics from a module: what is shipped traps without a message (`src/shim.rs`), so
//! nothing reads them, and `wasm-opt` drops zeros.

use anyhow::Result;
use std::ops::Range;
use wasmparser::{DataKind, Operator, Parser, Payload};

/// Bytes of a `core::panic::Location`: pointer to and length of the file name, line and column, four each.
const PLACE: usize = 16;
/// Bound on lines and columns; anything else after a pointer and a length is another address.
const FEWER: usize = 65_536;

/// The module with zeros for all locations and the names of their files.
pub(crate) fn without(module: &[u8]) -> Result<Vec<u8>> {
    // Address and bytes of each segment: a location and its file name may be in different ones.
    let mut segments: Vec<(usize, Range<usize>)> = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        let Payload::DataSection(section) = payload? else { continue };
        for data in section {
            let data = data?;
            let DataKind::Active { offset_expr, .. } = data.kind else { continue };
            let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else { continue };
            let end = usize::try_from(data.range.end)?;
            segments.push((usize::try_from(value)?, end - data.data.len()..end));
        }
    }
    let first = segments.iter().map(|(address, _)| *address).min().unwrap_or_default();
    let mut memory = Vec::new();
    for (address, bytes) in &segments {
        let at = address - first;
        memory.resize(memory.len().max(at + bytes.len()), 0);
        if let (Some(to), Some(from)) = (memory.get_mut(at..at + bytes.len()), module.get(bytes.clone())) {
            to.copy_from_slice(from);
        }
    }
    for part in places(first, &memory) {
        if let Some(bytes) = memory.get_mut(part) {
            bytes.fill(0);
        }
    }
    let mut without = module.to_vec();
    for (address, bytes) in segments {
        let at = address - first;
        if let (Some(from), Some(to)) = (memory.get(at..at + bytes.len()), without.get_mut(bytes)) {
            to.copy_from_slice(from);
        }
    }
    Ok(without)
}

/// The locations in memory that begins at `address`, and the names of their files.
fn places(address: usize, memory: &[u8]) -> Vec<Range<usize>> {
    let aligned = address.next_multiple_of(4) - address;
    let mut parts = Vec::new();
    for at in (aligned..memory.len()).step_by(4) {
        if let Some(name) = memory.get(at..at + PLACE).and_then(|place| name(address, memory, place)) {
            parts.extend([at..at + PLACE, name]);
        }
    }
    parts
}

/// The file name of a location, if it is one.
fn name(address: usize, memory: &[u8], place: &[u8]) -> Option<Range<usize>> {
    let mut numbers = place.chunks_exact(4).map(|bytes| bytes.try_into().map(u32::from_le_bytes));
    let mut next = || usize::try_from(numbers.next()?.ok()?).ok();
    let (from, length, line, column) = (next()?.checked_sub(address)?, next()?, next()?, next()?);
    let name = from..from.checked_add(length)?;
    let is_file = |name: &[u8]| name.ends_with(b".rs") && name.windows(4).any(|part| part == b"src/");
    let is_place = (1..FEWER).contains(&line) && (1..FEWER).contains(&column);
    (is_place && memory.get(name.clone()).is_some_and(is_file)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::without;

    const AT: u32 = 70_000;

    /// A module that contains only constants, from that address on, in two segments of fewer than 60 bytes.
    fn module(first: &[u8], second: &[u8]) -> Vec<u8> {
        assert_eq!(first.len(), 28);
        let segment = |address: [u8; 3], constants: &[u8]| {
            [&[0, 0x41], &address[..], &[0x0b, constants.len() as u8], constants].concat()
        };
        let data = [&[2], &segment([0xf0, 0xa2, 0x04], first)[..], &segment([0x8c, 0xa3, 0x04], second)].concat();
        [&b"\0asm\x01\0\0\0\x05\x03\x01\0\x02\x0b"[..], &[data.len() as u8], &data].concat()
    }

    fn numbers(numbers: [u32; 4]) -> Vec<u8> {
        numbers.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn places_and_their_files() {
        let names = b"src/lib.rs, old harbour.rs  ";
        let place = |from, length, line, column| numbers([AT + from, length, line, column]);
        let file = place(0, 10, 7, 9);
        let gone = [&[0; 10], &names[10..]].concat();
        assert_eq!(without(&module(names, &file)).unwrap(), module(&gone, &[0; 16]));
        // Not the name of a source file; an address instead of a line; no line; no address of a name.
        for text in [place(10, 16, 7, 9), place(0, 10, AT + 10, 16), place(0, 10, 0, 9), numbers([3, 10, 7, 9])] {
            assert_eq!(without(&module(names, &text)).unwrap(), module(names, &text));
            let both = [text.clone(), file.clone()].concat();
            assert_eq!(without(&module(names, &both)).unwrap(), module(&gone, &[&text[..], &[0; 16]].concat()));
        }
        assert_eq!(without(&module(names, b"")).unwrap(), module(names, b""));
        assert!(without(b"no module").is_err());
    }
}
