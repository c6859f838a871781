//! Empties the functions of the standard library that panic: what is shipped traps without a message (`src/shim.rs`), so
//! `wasm-opt` then drops what is made for them and passed to them.

use crate::order::number;
use anyhow::Result;
use std::collections::HashMap;
use wasmparser::{KnownCustom, Name, Parser, Payload, TypeRef};

/// A function without locals whose only instruction is `unreachable`.
const TRAP: [u8; 3] = [0, 0x00, 0x0b];
/// Identifier of the section that holds the functions' bodies.
const CODE: u8 = 10;

/// The module, whose functions have names, with a trap for the body of each function that only panics.
pub(crate) fn without(module: &[u8]) -> Result<Vec<u8>> {
    let (mut names, mut bodies, mut imported) = (HashMap::new(), Vec::new(), 0);
    // Where the section of bodies begins, with its header, and where it ends.
    let (mut begin, mut end) = (0, 0);
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        let section = payload.as_section();
        match &payload {
            Payload::ImportSection(section) => {
                for import in section.clone().into_imports() {
                    imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body.as_bytes()),
            Payload::CustomSection(section) => {
                let KnownCustom::Name(parts) = section.as_known() else { continue };
                for part in parts {
                    let Name::Function(functions) = part? else { continue };
                    for function in functions {
                        let function = function?;
                        names.insert(function.index, function.name);
                    }
                }
            }
            _ => {}
        }
        match section {
            Some((CODE, range)) => end = usize::try_from(range.end)?,
            Some((_, range)) if end == 0 => begin = usize::try_from(range.end)?,
            _ => {}
        }
    }
    let mut code = number(bodies.len());
    for (index, body) in (imported..).zip(bodies) {
        let body = if names.get(&index).is_some_and(|name| panics(name)) { &TRAP } else { body };
        code.extend(number(body.len()));
        code.extend(body);
    }
    let [before, after] = [module.get(..begin), module.get(end..)].map(Option::unwrap_or_default);
    Ok([before, &[CODE], &number(code.len()), &code, after].concat())
}

/// Whether a function of this mangled name belongs to the standard library and does nothing but panic.
fn panics(name: &str) -> bool {
    const ENDS: [&str; 10] = [
        "13assert_failed",
        "13expect_failed",
        "13unwrap_failed",
        "16slice_error_fail",
        "16slice_index_fail",
        "17capacity_overflow",
        "17len_mismatch_fail",
        "18handle_alloc_error",
        "19slice_error_fail_rt",
        "8do_panic7runtime",
    ];
    // The standard library's own mangling, which the rest of a build does not use.
    name.starts_with("_R") && (name.contains("4core9panicking") || ENDS.iter().any(|end| name.ends_with(end)))
}

#[cfg(test)]
mod tests {
    use super::without;
    use crate::order::{number, text};

    /// A module of functions without arguments and results, each with a name and a body.
    fn module(functions: &[(&str, &[u8])]) -> Vec<u8> {
        let section = |id: u8, parts: &[Vec<u8>]| [vec![id], number(parts.concat().len()), parts.concat()].concat();
        let counted = |parts: Vec<Vec<u8>>| [number(parts.len()), parts.concat()].concat();
        let types = section(1, &[vec![1, 0x60, 0, 0]]);
        let declared = section(3, &[counted(functions.iter().map(|_| vec![0]).collect())]);
        let bodies = functions.iter().map(|(_, body)| [number(body.len()), body.to_vec()].concat());
        let code = section(10, &[counted(bodies.collect())]);
        let names = functions.iter().enumerate().map(|(index, (name, _))| [number(index), text(name)].concat());
        let names = section(0, &[text("name"), section(1, &[counted(names.collect())])]);
        [b"\0asm\x01\0\0\0".to_vec(), types, declared, code, names].concat()
    }

    #[test]
    fn what_only_panics_traps() {
        // No locals, `nop` and the end.
        let body: &[u8] = &[0, 0x01, 0x0b];
        let panics = "_RNvNtCsgXGp5Oqx2Ny_4core6option13unwrap_failed";
        let names = ["main", panics, "_RNvNtCsgXGp5Oqx2Ny_4core9panicking5panic", "_ZN2my13unwrap_failed17hE"];
        let given = module(&names.map(|name| (name, body)));
        let trap: &[u8] = &super::TRAP;
        let bodies = [body, trap, trap, body];
        let expected: Vec<_> = names.into_iter().zip(bodies).collect();
        assert_eq!(without(&given).unwrap(), module(&expected));
    }

    #[test]
    fn without_names_nothing_changes() {
        let given = module(&[("main", &[0, 0x01, 0x0b])]);
        assert_eq!(without(&given).unwrap(), given);
    }
}
