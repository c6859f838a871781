//! Puts similar functions next to each other, so that compression finds them: gzip looks back 32 KB.

use anyhow::Result;
use std::collections::{HashMap, VecDeque};
use wasmparser::{Parser, Payload, TypeRef};

/// Bytes compared as one unit.
const PIECE: usize = 6;

/// Bytes added to a function's size in scores, so that tiny functions do not come first.
const OVERHEAD: usize = 60;

/// The module with a name section by which `wasm-opt --reorder-functions-by-name` orders its functions. Similarity
/// counts within `window` bytes: less than gzip's window, which also holds other sections. Pieces shared by more
/// functions than `common` say nothing.
pub(crate) fn named(module: &[u8], window: usize, common: usize) -> Result<Vec<u8>> {
    let (mut bodies, mut imported) = (Vec::new(), 0);
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body.as_bytes()),
            _ => {}
        }
    }
    let order = order(&bodies, window, common);
    let mut names = vec![String::new(); bodies.len()];
    for (place, function) in order.into_iter().enumerate() {
        if let Some(name) = names.get_mut(function) {
            *name = format!("f{place:06}");
        }
    }
    let mut map = number(names.len());
    for (index, name) in (u64::from(imported)..).zip(&names) {
        map.extend(number(usize::try_from(index)?));
        map.extend(text(name));
    }
    let mut section = text("name");
    // Subsection 1: function names.
    section.push(1);
    section.extend(number(map.len()));
    section.extend(map);
    let mut named = module.to_vec();
    named.push(0);
    named.extend(number(section.len()));
    named.extend(section);
    Ok(named)
}

/// The order of functions, greedily: each is the one that shares most, relative to its size, with those shortly before
/// it.
fn order(bodies: &[&[u8]], most: usize, common: usize) -> Vec<usize> {
    // Which functions have a piece, and which pieces a function has.
    let (mut ids, mut sharers) = (HashMap::new(), Vec::<Vec<usize>>::new());
    let pieces: Vec<Vec<usize>> = bodies
        .iter()
        .enumerate()
        .map(|(function, body)| {
            let mut own = Vec::new();
            for piece in body.windows(PIECE) {
                let next = ids.len();
                let id = *ids.entry(piece).or_insert(next);
                sharers.resize_with(sharers.len().max(id + 1), Vec::new);
                if let Some(sharers) = sharers.get_mut(id).filter(|sharers| sharers.last() != Some(&function)) {
                    sharers.push(function);
                    own.push(id);
                }
            }
            own
        })
        .collect();
    let mut scores = vec![0_usize; bodies.len()];
    let mut seen = vec![0_usize; sharers.len()];
    let mut left: Vec<usize> = (0..bodies.len()).collect();
    let (mut order, mut window, mut bytes) = (Vec::new(), VecDeque::new(), 0);
    let size = |function: usize| bodies.get(function).map_or(0, |body| body.len());
    let likeness = |scores: &[usize], function: usize| {
        scores.get(function).copied().unwrap_or(0) * 100_000 / (size(function) + OVERHEAD)
    };
    // The first of the best, so that the order is the same on every machine.
    while let Some((at, _)) = left.iter().enumerate().min_by_key(|(_, function)| !likeness(&scores, **function)) {
        let function = left.remove(at);
        order.push(function);
        window.push_back(function);
        bytes += size(function);
        // A function that enters the window raises the scores of those that share a piece with it; one that leaves
        // lowers them.
        let mut comes = Some(function);
        while let Some(function) = comes.or_else(|| window.pop_front_if(|_| bytes > most)) {
            for id in pieces.get(function).into_iter().flatten() {
                let (Some(seen), Some(sharers)) = (seen.get_mut(*id), sharers.get(*id)) else { continue };
                let changes = if comes.is_some() { *seen == 0 } else { *seen == 1 };
                *seen = if comes.is_some() { *seen + 1 } else { *seen - 1 };
                for sharer in sharers.iter().filter(|_| changes && sharers.len() <= common) {
                    if let Some(score) = scores.get_mut(*sharer) {
                        *score = if comes.is_some() { *score + 1 } else { *score - 1 };
                    }
                }
            }
            if comes.take().is_none() {
                bytes -= size(function);
            }
        }
    }
    order
}

/// An unsigned integer in WebAssembly's LEB128 encoding.
pub(crate) fn number(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    [number(text.len()), text.as_bytes().to_vec()].concat()
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn what_is_alike_stands_together() {
        let text = |seed: u8| -> Vec<u8> { (0..200_u8).map(|at| at.wrapping_mul(seed) ^ (at >> 3)).collect() };
        let (one, other) = (text(7), text(29));
        let (like_one, like_other) = ([&one[..190], b"end"].concat(), [&other[..180], b"end"].concat());
        assert_eq!(order(&[&one, &other, &like_other, &like_one], 28_000, 60), [0, 3, 1, 2]);
        assert!(order(&[], 28_000, 60).is_empty());
    }
}
