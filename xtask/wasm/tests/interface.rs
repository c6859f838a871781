//! Imports and exports of the built component, compared with the committed WIT.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a panic is a failed test"
)]

use std::env;
use std::path::{Path, PathBuf};
use wit_component::WitPrinter;
use wit_parser::decoding::{DecodedWasm, decode};
use wit_parser::{Docs, InterfaceId, Resolve, Stability, TypeDefKind, WorldId, WorldItem, WorldKey};

fn built() -> (Resolve, WorldId) {
    // By default, where `cargo xtask` puts it; this program runs from `<target directory>/<profile>/deps`.
    let program = env::current_exe().unwrap();
    let usual = || program.ancestors().nth(3).unwrap().join("dist-stage/loopwarden.wasm");
    let path = env::var_os("LOOPWARDEN_COMPONENT").map_or_else(usual, PathBuf::from);
    let bytes =
        std::fs::read(&path).unwrap_or_else(|_| panic!("no component at {}: `cargo xtask build`", path.display()));
    match decode(&bytes).unwrap() {
        DecodedWasm::Component(resolve, world) => (resolve, world),
        DecodedWasm::WitPackage(..) => panic!("the file is a WIT package, not a component"),
    }
}

fn committed() -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let folder = Path::new("../../wit");
    let (package, _) = resolve.push_path(folder).unwrap();
    let world = resolve.select_world(&[package], Some("loopwarden")).unwrap();
    (resolve, world)
}

fn exports(resolve: &Resolve, world: WorldId) -> Vec<InterfaceId> {
    let items = resolve.worlds[world].exports.values();
    items.map(|item| if let WorldItem::Interface { id, .. } = item { *id } else { panic!("a bare export") }).collect()
}

/// The interface as WIT text, without what a component does not carry (documentation, `@since`, the order of items).
fn printed(mut resolve: Resolve, id: InterfaceId) -> String {
    for (_, ty) in &mut resolve.types {
        ty.stability = Stability::Unknown;
    }
    let interface = &mut resolve.interfaces[id];
    interface.docs = Docs::default();
    interface.stability = Stability::Unknown;
    interface.types.sort_keys();
    interface.functions.sort_keys();
    for function in interface.functions.values_mut() {
        function.stability = Stability::Unknown;
    }
    let mut printer = WitPrinter::default();
    printer.emit_docs(false).print_interface(&resolve, id).unwrap();
    printer.output.to_string()
}

#[test]
fn imports_nothing() {
    let (resolve, world) = built();
    let imports: Vec<&WorldKey> = resolve.worlds[world].imports.keys().collect();
    assert!(imports.is_empty(), "{imports:?}");
}

#[test]
fn exports_one_interface() {
    let (resolve, world) = built();
    let names: Vec<String> = exports(&resolve, world).into_iter().filter_map(|id| resolve.id_of(id)).collect();
    assert_eq!(names, ["loopwarden:detector/detection@0.1.0"]);
}

#[test]
fn is_what_the_committed_wit_says() {
    let [built, committed] = [built(), committed()].map(|(resolve, world)| {
        let [interface] = exports(&resolve, world)[..] else { panic!("not one export") };
        printed(resolve, interface)
    });
    assert!(committed.contains("record: func(event: event) -> result<verdict, detector-error>;"), "{committed}");
    assert_eq!(built, committed);
}

#[test]
fn every_item_of_the_committed_wit_is_documented_and_dated() {
    let (resolve, world) = committed();
    let since = |stability: &Stability| matches!(stability, Stability::Stable { .. });
    let mut bare = Vec::new();
    let mut item = |name: String, docs: &Docs, dated: bool| {
        if docs.contents.as_deref().unwrap_or_default().trim().is_empty() || !dated {
            bare.push(name);
        }
    };
    let world = &resolve.worlds[world];
    item(world.name.clone(), &world.docs, since(&world.stability));
    for (_, package) in &resolve.packages {
        item(package.name.to_string(), &package.docs, true);
    }
    for (_, interface) in &resolve.interfaces {
        item(interface.name.clone().unwrap_or_default(), &interface.docs, since(&interface.stability));
        for function in interface.functions.values() {
            item(function.name.clone(), &function.docs, since(&function.stability));
        }
        for (name, id) in &interface.types {
            let ty = &resolve.types[*id];
            item(name.clone(), &ty.docs, since(&ty.stability));
            let parts: Vec<(&String, &Docs)> = match &ty.kind {
                TypeDefKind::Record(record) => record.fields.iter().map(|field| (&field.name, &field.docs)).collect(),
                TypeDefKind::Variant(variant) => variant.cases.iter().map(|case| (&case.name, &case.docs)).collect(),
                TypeDefKind::Enum(cases) => cases.cases.iter().map(|case| (&case.name, &case.docs)).collect(),
                _ => Vec::new(),
            };
            for (part, docs) in parts {
                item(format!("{name}.{part}"), docs, true);
            }
        }
    }
    assert!(bare.is_empty(), "without documentation or @since: {bare:?}");
}
