//! What a `no_std` module has to bring itself: an allocator, an end for panics, and `memcmp`.
//!
//! `cabi_realloc`, through which a host passes strings and lists, comes with `wit-bindgen`'s `realloc` feature; the
//! build exports it with `--export=cabi_realloc`.

#[cfg(target_arch = "wasm32")]
mod wasm {
    // Compiled code calls `memcmp`, which on this target is the C library's (it comes with the Rust target). Nothing
    // else of it is linked, so nothing of WASI is.
    #[expect(unsafe_code, reason = "declares nothing: it only names the library to the linker")]
    #[link(name = "c")]
    unsafe extern "C" {}

    /// dlmalloc asks the module's own memory for more and returns freed blocks to it, so no import is needed.
    #[global_allocator]
    static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

    /// Ends the instance. The lints keep panics out of the core: what is left is a host that refuses memory.
    #[panic_handler]
    fn trap(_: &core::panic::PanicInfo<'_>) -> ! {
        core::arch::wasm32::unreachable()
    }
}
