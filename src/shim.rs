//! What a `no_std` module has to provide itself: an allocator for both sides of the boundary, a panic handler and, for
//! the component, `cabi_realloc` and `memcmp`.

use core::arch::wasm32::unreachable as trap;

/// dlmalloc grows the module's own memory and reuses freed blocks, so no import is needed.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Ends the instance. Lints keep panics out of the core, so this happens only if the host refuses memory. No message is
/// written, which keeps panic texts out of the module.
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    trap()
}

#[cfg(feature = "component")]
mod component {
    use super::trap;
    use alloc::alloc::{Layout, alloc, realloc};
    use core::ptr;

    /// Allocates the strings and lists that the host passes. The detector frees them, so they have to come from its own
    /// allocator: if this were undefined, the linker would silently use the C library's, which has a separate heap.
    ///
    /// Traps if no memory is available, because the canonical ABI provides for no other answer.
    ///
    /// # Safety
    /// `old_size` is 0, or `old` is a block of `old_size` bytes and alignment `align` that this function returned and
    /// `new_size` is not 0.
    #[expect(unsafe_code, reason = "the canonical ABI prescribes this function and its raw memory")]
    #[unsafe(no_mangle)]
    unsafe extern "C" fn cabi_realloc(old: *mut u8, old_size: usize, align: usize, new_size: usize) -> *mut u8 {
        if new_size == 0 {
            return ptr::without_provenance_mut(align);
        }
        let Ok(layout) = Layout::from_size_align(if old_size == 0 { new_size } else { old_size }, align) else {
            trap()
        };
        // SAFETY: no size is 0 here, and an old block has this layout according to the contract above.
        let block = unsafe { if old_size == 0 { alloc(layout) } else { realloc(old, layout, new_size) } };
        if block.is_null() { trap() } else { block }
    }

    // Compiled code calls `memcmp`, which on this target comes from the C library (shipped with the Rust target).
    // Nothing else of that library is linked, and so nothing of WASI.
    #[expect(unsafe_code, reason = "declares nothing: it only names the library to the linker")]
    #[link(name = "c")]
    unsafe extern "C" {}
}
